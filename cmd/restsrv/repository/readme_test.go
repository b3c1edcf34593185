package repository

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

// ownCommand matches the start of a restsrv command in a document.
var ownCommand = regexp.MustCompile(`(^|\| )restsrv `)

// markdownFiles returns the Markdown files of the repository by their path in it.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(apptest.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != apptest.Root) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(apptest.Root, path)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestREADME runs the commands in the console blocks of each document, on a server of the sample
// application that it starts for the document. The output must be as in the document; JSON may
// have other white space.
func TestREADME(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	tested := 0
	for path, text := range markdownFiles(t) {
		blocks := strings.Split(text, "```console\n")[1:]
		if len(blocks) == 0 {
			continue
		}
		tested++
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, sampleFor(t, text))
			for _, block := range blocks {
				block, _, found := strings.Cut(block, "```")
				if !found {
					t.Fatal("a console block does not end")
				}
				for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
					command, want, _ := strings.Cut(part, "\n")
					runDocumented(t, p, command, want)
				}
			}
		})
	}
	if tested < 5 {
		t.Errorf("%d documents have console blocks, want at least 5", tested)
	}
}

// runDocumented runs a command of a document on a server and compares its output.
func runDocumented(t *testing.T, p *apptest.Process, command, want string) {
	t.Helper()
	command = strings.ReplaceAll(command, "http://127.0.0.1:8888", p.URL)
	command = strings.ReplaceAll(command, "secret", apptest.AdminPassword)
	command = strings.ReplaceAll(command, "curl ", "curl -s ")
	own := ownCommand.MatchString(command)
	command = ownCommand.ReplaceAllString(command, "${1}"+apptest.Binary(t)+" ")
	shell := exec.Command("sh", "-c", command)
	shell.Dir = p.Cmd.Dir
	out, err := shell.Output()
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
	if got := compactJSON(string(out)); got != compactJSON(want) {
		t.Errorf("%s\ngot  %s\nwant %s", command, got, want)
	}
	if own {
		time.Sleep(600 * time.Millisecond) // the server reads changes within half a second
	}
}

// compactJSON removes white space from JSON. It trims other text.
func compactJSON(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) == nil {
		return b.String()
	}
	return strings.TrimSpace(text)
}

// addScript matches the instructions of a document to add a script to the sample: "Save this as
// `FILE`, and add `ENTRY` to `modules.rest.globals.di`", followed by a block with the source.
var addScript = regexp.MustCompile("(?s)Save this as `([^`]+)`, and add\\s+`([^`]+)`\\s+to `modules.rest.globals.di`.*?```js\n(.*?)```")

// sampleFor returns a copy of the repository's application with the scripts that the
// document adds.
func sampleFor(t *testing.T, document string) (dir string) {
	t.Helper()
	dir = apptest.CopySample(t)
	for _, m := range addScript.FindAllStringSubmatch(document, -1) {
		apptest.WriteFile(t, filepath.Join(dir, m[1]), m[3])
		config := filepath.Join(dir, "deploy.json")
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		apptest.WriteFile(t, config, strings.Replace(string(text), `"di": {`, `"di": {`+m[2]+",", 1))
	}
	return dir
}

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	mdCode    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	mdPath    = regexp.MustCompile("`((?:cmd|engine|builtin|scripts)/[A-Za-z0-9_./*-]+)`")

	moduleName   = regexp.MustCompile(`^builtin/[a-z]+$`)                                  // in deploy.json, not a path
	readersFiles = map[string]bool{"scripts/count.js": true, "scripts/restsrv.d.ts": true} // made by the reader
)

// TestMapLinks checks that the links of all documents lead to files and headings of the
// repository, and that the paths in them, such as `engine/doc.go`, exist.
func TestMapLinks(t *testing.T) {
	all := markdownFiles(t)
	for path, text := range all {
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(text, ""), -1) {
			link := m[1]
			if strings.Contains(link, "://") {
				continue
			}
			file, heading, _ := strings.Cut(link, "#")
			target := path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
			}
			if strings.HasPrefix(target, "..") {
				t.Errorf("%s: link %s leaves the repository", path, link)
			} else if _, err := os.Stat(filepath.Join(apptest.Root, target)); err != nil {
				t.Errorf("%s: link %s: %v", path, link, err)
			} else if heading != "" && !hasHeading(all[target], heading) {
				t.Errorf("%s: link %s: %s has no such heading", path, link, target)
			}
		}
		for _, m := range mdPath.FindAllStringSubmatch(text, -1) {
			if readersFiles[m[1]] || moduleName.MatchString(m[1]) {
				continue
			}
			if found, err := filepath.Glob(filepath.Join(apptest.Root, m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names `%s`, which does not exist", path, m[1])
			}
		}
	}
}

// hasHeading reports whether a document has a heading with the given anchor.
func hasHeading(text, anchor string) bool {
	for _, m := range mdHeading.FindAllStringSubmatch(text, -1) {
		id := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(m[1])), " ", "-")
		if regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(id, "") == anchor {
			return true
		}
	}
	return false
}

// TestREADMELength checks the length of the README, which should be short enough to read at once.
func TestREADMELength(t *testing.T) {
	if n := strings.Count(markdownFiles(t)["README.md"], "\n"); n > 100 {
		t.Errorf("README.md has %d lines, want at most 100: other documents have the details", n)
	}
}
