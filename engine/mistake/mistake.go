// Package mistake lists the mistakes in applications for which the server has a rule. The rule
// says how the server resolves the mistake, and whether it refuses to start. IONDV starts
// applications with mistakes, and most applications contain some. So the server reports a mistake
// and starts too, if this cannot lose data or grant access.
//
// The package contains only a table. The packages that read class files, deploy.json, workflows
// and data files find the mistakes, report them with [jsonfile.Object.Report], and resolve them
// as the rule says. MISTAKES.md in this folder shows the table; use it when you move an
// application from IONDV. A test checks that the page matches the table.
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
	Code       string       // identifies the rule in reports, such as "ancestor-missing"; do not change a code
	Section    Section      // part of the application that contains the mistake
	Level      engine.Level // Mistake or Warning
	Mistake    string       // description of the mistake, for MISTAKES.md
	Resolution string       // action of the server instead, for MISTAKES.md and for reports
}

// Apply sets the level, code and resolution of the rule in all fatal faults of the list. It
// reports whether the list contains any.
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

// Section is a part of an application. MISTAKES.md has a section for each.
type Section string

// The sections, in the order of MISTAKES.md.
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

// addRule adds a rule to the table and returns it. Use addLeveled if its level is not Mistake.
func addRule(section Section, code, mistake, resolution string) *Rule {
	return addLeveled(engine.Mistake, section, code, mistake, resolution)
}

func addLeveled(level engine.Level, section Section, code, mistake, resolution string) *Rule {
	r := &Rule{Code: code, Section: section, Level: level, Mistake: mistake, Resolution: resolution}
	all = append(all, r)
	return r
}

// All returns the rules, ordered by section and code. Callers should not change them.
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

// Page returns the contents of MISTAKES.md.
func Page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	var section Section
	for _, r := range All() {
		if r.Section != section {
			section = r.Section
			fmt.Fprintf(&b, "\n## %s\n\n| Mistake | Resolution | Level | Code |\n| --- | --- | --- | --- |\n", section)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", r.Mistake, r.Resolution, r.Level, r.Code)
	}
	return b.String()
}

const pageHead = `# Mistakes in applications

IONDV starts applications even if their files contain mistakes. restsrv starts them
too. It reports each mistake once, when it starts and when it reloads the
application. The report contains the place and the resolution:

    meta/person.class.json:7:12: ancestor: found "human", a class that does not exist, expected "person": the class and its descendants are left out

` + "`restsrv check`" + ` lists all mistakes without starting the server. Use ` + "`-json`" + ` to print one
JSON object a line: file, line, column, path, level, code, found, expected and
resolution. If ` + "`-strict`" + ` is set, the server, ` + "`restsrv import`" + ` and ` + "`restsrv check`" + ` refuse
an application with mistakes.

- A **mistake** is resolved by default. It is refused if ` + "`-strict`" + ` is set.
- A **warning** is never refused.
- A **fatal** mistake is always refused, because its intention is unclear.

If a definition is left out, it is treated as missing everywhere. No resolution deletes
stored values or changes their type: if a definition would do that, the server refuses to
start and reports how to continue.

Use the code to find a report in this page. When you correct a definition, run
` + "`restsrv check`" + ` again: a definition that was left out may contain further mistakes.
`
