package meta

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
)

var update = flag.Bool("update", false, "rewrite the expected part of testdata")

// TestGolden loads the class files and inline classes of each case and compares the resulting faults and classes.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("got no cases, error %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, ok := strings.Cut(string(data), "-- want --\n")
			if !ok {
				t.Fatal("the case has no part -- want --")
			}
			got := run(t, sections(input))
			if *update {
				if err := os.WriteFile(file, []byte(input+"-- want --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

var heading = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// sections splits a case into its files.
func sections(input string) map[string]string {
	parts := make(map[string]string)
	marks := heading.FindAllStringSubmatchIndex(input, -1)
	for i, m := range marks {
		end := len(input)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		parts[input[m[2]:m[3]]] = input[m[1]:end]
	}
	return parts
}

// loadParts loads the class files and inline classes of a case.
func loadParts(t *testing.T, parts map[string]string) (*Repository, engine.Faults) {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range parts {
		if name != "inline" {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	sources, faults := ReadDir(root, "meta")
	if text, ok := parts["inline"]; ok {
		v, err := wire.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for i, class := range v.([]any) {
			sources = append(sources, Source{File: "deploy.json", Path: jsonfile.Element("classes", i), Value: class, Inline: true})
		}
	}
	r, more := Load(sources, "app")
	return r, append(faults, more...)
}

func run(t *testing.T, parts map[string]string) string {
	t.Helper()
	r, faults := loadParts(t, parts)
	var b strings.Builder
	for _, f := range faults {
		if f.Level != engine.Fatal {
			b.WriteString(strings.TrimSpace(f.Level.String()+" "+f.Code) + ": ")
		}
		b.WriteString(f.String() + "\n")
	}
	if r != nil {
		for _, c := range r.Classes() {
			dump(&b, c)
		}
	}
	return b.String()
}
