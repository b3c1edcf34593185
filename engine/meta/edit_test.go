package meta

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"restsrv/engine"
	"restsrv/engine/describe"
	"restsrv/engine/mistake"
	"restsrv/engine/wire"
)

// asWritten lists the rules of mistakes that the descriptions of classes still contain. Class files cannot express how
// the server resolves these mistakes.
var asWritten = []*mistake.Rule{
	mistake.FormulaAttribute, mistake.FormulaInvalid, mistake.FormulaSkipped, mistake.ConditionsAttribute, mistake.SubclassUnknown,
	mistake.TreeType, mistake.TreeCase, mistake.AttributeCase, mistake.ClassCase, mistake.TrackerText,
}

// faultyCases returns the files of cases with mistakes, by the name of the case. These are the golden cases, and cases
// of the server.
func faultyCases(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := filepath.Glob("../../cmd/restsrv/testdata/mistakes/*.txtar")
	if err != nil || len(rows) == 0 {
		t.Fatal("no cases of mistakes", err)
	}
	cases := map[string]map[string]string{}
	for _, file := range append(files, rows...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := strings.Cut(string(text), "-- want --\n")
		for i, row := range strings.Split(input, "\n-- row: ") {
			if at := strings.Index(row, "\n-- report"); at >= 0 {
				row = row[:at+1] // later files replace earlier ones
			}
			name := filepath.Base(file)
			if title, _, ok := strings.Cut(row, " --\n"); i > 0 && ok {
				name += ": " + title
			}
			cases[name] = sections(row)
		}
	}
	return cases
}

// inlineStructures returns the structures among the classes in deploy.json, because they have no descriptions.
func inlineStructures(t *testing.T, text string) (all [][]byte) {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := wire.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range v.([]any) {
		fields, _ := class.(engine.Fields)
		if structure, _ := fields.Get("isStruct"); structure == true {
			all = append(all, engine.AppendValue(nil, class))
		}
	}
	return all
}

// TestDescriptionsHaveNoMistakes loads class files with mistakes, and then loads the descriptions of these classes as
// if they were class files. The descriptions must not contain the mistakes.
func TestDescriptionsHaveNoMistakes(t *testing.T) {
	resolved := 0
	for name, parts := range faultyCases(t) {
		r, faults := loadParts(t, parts)
		if r == nil {
			continue
		}
		root := fstest.MapFS{}
		for _, c := range r.Classes() {
			root["meta/"+c.FullName+".class.json"] = &fstest.MapFile{Data: engine.AppendValue(nil, describe.Class(c))}
		}
		for file, text := range parts {
			if strings.HasSuffix(file, ".type.json") || strings.Contains(text, `"isStruct"`) && strings.HasPrefix(file, "meta/") {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		for i, text := range inlineStructures(t, parts["inline"]) {
			root[fmt.Sprintf("meta/inline%d.class.json", i)] = &fstest.MapFile{Data: text}
		}
		sources, more := ReadDir(root, "meta")
		again, wrong := Load(sources, "app")
		for _, f := range append(more, wrong...) {
			written := parts[f.File] != "" || slices.ContainsFunc(asWritten, func(rule *mistake.Rule) bool { return rule.Code == f.Code })
			if f.Level < engine.Warning && !written {
				t.Errorf("%s: the description of a class has the mistake\n%s\n%s", name, f, root[f.File].Data)
			}
		}
		if again != nil && len(again.Classes()) != len(r.Classes()) {
			t.Errorf("%s: %d classes are described, %d can be loaded", name, len(r.Classes()), len(again.Classes()))
		}
		for _, f := range faults {
			if f.Level == engine.Mistake {
				resolved++
			}
		}
	}
	if resolved < 200 {
		t.Errorf("the cases have %d mistakes, want 200", resolved)
	}
}

// TestExpectedNamesExist checks that faults do not propose classes or attributes that are themselves left out.
func TestExpectedNamesExist(t *testing.T) {
	classes, attributes := 0, 0
	for name, parts := range faultyCases(t) {
		r, faults := loadParts(t, parts)
		if r == nil {
			continue
		}
		left, used := map[string]bool{}, map[string]bool{}
		for file, text := range parts {
			v, err := wire.Decode([]byte(text))
			fields, ok := v.(engine.Fields)
			if err != nil || !ok || !strings.HasSuffix(file, ".class.json") {
				continue
			}
			written, _ := fields.Get("name")
			text, _ := written.(string)
			structure, _ := fields.Get("isStruct")
			c, err := r.Class(engine.FullName(text, "app"))
			if err != nil && structure != true {
				left[engine.FullName(text, "app")] = true
				classes++
			}
			written, _ = fields.Get("properties")
			list, _ := written.([]any)
			for _, v := range list {
				fields, _ := v.(engine.Fields)
				written, _ := fields.Get("name")
				text, _ := written.(string)
				if text == "" {
					continue
				}
				if c == nil || c.Property(text) == nil {
					left[text] = true
					attributes++
				} else {
					used[text] = true
				}
			}
		}
		for _, f := range faults {
			_, names, ok := strings.Cut(f.Expected, "one of ")
			if !ok {
				names, ok = f.Expected, strings.HasPrefix(f.Expected, `"`)
			}
			for _, word := range strings.FieldsFunc(names, func(r rune) bool { return strings.ContainsRune(`", `, r) }) {
				if ok && left[word] && !used[word] {
					t.Errorf("%s: %s is left out, but it is proposed:\n%s", name, word, f)
				}
			}
		}
	}
	if classes < 10 || attributes < 10 {
		t.Errorf("the cases leave out %d classes and %d attributes, want 10 of each", classes, attributes)
	}
}
