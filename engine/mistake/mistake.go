// Package mistake lists the mistakes in applications that have a rule: what the
// server does with each, and whether it refuses to start. IONDV starts
// applications with mistakes, and most applications contain some, so a mistake is
// resolved and reported wherever that cannot lose data or grant anything.
//
// It is a table only. The readers of class files, deploy.json, workflows and data
// files find the mistakes, report them with [jsonfile.Object.Report], and do what
// the rule says. MISTAKES.md in this folder shows the table to people who move an
// application from IONDV; a test keeps it in step.
//
// [jsonfile.Object.Report]: restsrv/engine/jsonfile
package mistake

import (
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
)

// Rule is one kind of mistake.
type Rule struct {
	Code       string       // identifies the rule in reports, such as "ancestor-missing"; it never changes
	Section    Section      // where such mistakes are made
	Level      engine.Level // Mistake unless the table says otherwise
	Mistake    string       // what is wrong, for the page
	Resolution string       // what the server does instead, for the page and for reports
}

// Apply gives those of the faults that are fatal the level and the resolution of the
// rule, and reports whether there are any.
func (r *Rule) Apply(faults engine.Faults) bool {
	applied := false
	for i, f := range faults {
		if f.Level == engine.Fatal {
			faults[i].Level, faults[i].Code, faults[i].Resolution = r.Level, r.Code, r.Resolution
			applied = true
		}
	}
	return applied
}

// Section is a part of an application.
type Section string

// The sections, in the order of the page.
const (
	Files      Section = "Values in class files and deploy.json"
	Classes    Section = "Class files and classes"
	Attributes Section = "Attributes"
	Relations  Section = "References and collections"
	Values     Section = "Defaults, formulas and labels"
	Deploy     Section = "deploy.json"
	Workflows  Section = "Workflows, navigation, views and access rights"
	Data       Section = "Data files"
)

var sections = []Section{Files, Classes, Attributes, Relations, Values, Deploy, Workflows, Data}

var all []*Rule

// rule adds a mistake to the table.
func rule(section Section, code, mistake, resolution string) *Rule {
	return leveled(engine.Mistake, section, code, mistake, resolution)
}

func leveled(level engine.Level, section Section, code, mistake, resolution string) *Rule {
	r := &Rule{Code: code, Section: section, Level: level, Mistake: mistake, Resolution: resolution}
	all = append(all, r)
	return r
}

// All returns the rules by section and code. The caller must not change them.
func All() []*Rule {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *Rule) int {
		if a.Section != b.Section {
			return slices.Index(sections, a.Section) - slices.Index(sections, b.Section)
		}
		return strings.Compare(a.Code, b.Code)
	})
	return sorted
}

// Page returns the table as Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	var section Section
	for _, r := range All() {
		if r.Section != section {
			section = r.Section
			fmt.Fprintf(&b, "\n## %s\n\n| Mistake | What restsrv does | Level | Code |\n| --- | --- | --- | --- |\n", section)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", r.Mistake, r.Resolution, r.Level, r.Code)
	}
	return b.String()
}

const pageHead = `# Mistakes in applications

IONDV starts applications whose files contain mistakes. restsrv starts them too. It
reports each mistake once, at the start and at each reload, with its place and with
what it does instead:

    meta/person.class.json:7:12: ancestor: found "human", a class that does not exist, expected "person": the class and its descendants are left out

` + "`restsrv check`" + ` lists all mistakes without starting anything. With ` + "`-json`" + ` it prints one
JSON object a line: file, line, column, path, level, code, found, expected and
resolution. With ` + "`-strict`" + `, the server, ` + "`restsrv import`" + ` and ` + "`restsrv check`" + ` refuse an
application with mistakes.

- A **mistake** is resolved by default and refused with ` + "`-strict`" + `.
- A **warning** is never refused.
- What is **fatal** is always refused: nobody could know what was meant.

Something that is left out is treated as missing everywhere. No resolution deletes
stored values or changes their type: if a definition would, the server refuses to
start and says what to do.
`
