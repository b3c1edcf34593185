// Package types writes TypeScript declarations for the scripts of an
// application: of its classes, and of everything that restsrv lends scripts.
// With them an editor completes attributes and flags what is misspelt. It is
// not for running scripts (engine/script), nor for compiling TypeScript.
package types

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"restsrv/engine"
)

//go:embed *.d.ts
var fixed embed.FS

const heading = `// Written by restsrv types: what scripts of this application can use. Do not change it; after a change of a class,
// write it again. It needs no other declarations: "lib": ["es2023"], "types": [] (see restsrv types -init).

`

// Declarations are those of an application with these classes. The same
// classes make the same text.
func Declarations(classes []*engine.Class) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(heading)
	for _, name := range []string{"data", "query", "service", "testing", "globals", "modules"} {
		text, err := fixed.ReadFile(name + ".d.ts")
		if err != nil {
			return nil, err
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	w := &writer{b: &b, names: map[*engine.Class]string{}}
	w.application(classes)
	return b.Bytes(), nil
}

// writer writes the declarations of classes.
type writer struct {
	b     *bytes.Buffer
	names map[*engine.Class]string // of the interfaces
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w.b, format+"\n", args...) }

func (w *writer) application(classes []*engine.Class) {
	taken := map[string]bool{}
	count := map[string]int{}
	for _, c := range classes {
		w.names[c] = identifier(c.FullName, taken)
		count[c.Name]++
	}
	w.line("declare namespace restsrv {")
	w.line("  /** The classes of this application. */")
	w.line("  interface Classes {")
	for _, c := range classes {
		w.entry(c)
		if c.Namespace != "" && count[c.Name] == 1 {
			w.line("    %s: Classes[%s];", quoted(c.Name), quoted(c.FullName))
		}
	}
	w.line("  }")
	for _, c := range classes {
		w.class(c)
	}
	w.line("}")
}

// entry is what the generic declarations know of a class.
func (w *writer) entry(c *engine.Class) {
	var links, collections []string
	for _, p := range c.Properties {
		if p.Target == nil || w.names[p.Target] == "" {
			continue
		}
		links = append(links, fmt.Sprintf("%s: %s", quoted(p.Name), quoted(p.Target.FullName)))
		if p.Type == engine.Collection {
			collections = append(collections, quoted(p.Name))
		}
	}
	name := w.names[c]
	w.line("    %s: {", quoted(c.FullName))
	w.line("      item: %s; values: %s_values; input: %s_input;", name, name, name)
	w.line("      links: { %s };", strings.Join(links, "; "))
	w.line("      collections: %s; structs: %s;", union(collections), union(quotedAll(structs(c))))
	w.line("    };")
}

func (w *writer) class(c *engine.Class) {
	name := w.names[c]
	w.comment("  ", c.FullName, c.Caption, "")
	w.line("  interface %s extends Item<%s> {", name, quoted(c.FullName))
	for _, p := range c.Properties {
		if p.Type != engine.Password && !itemMember(p.Name) {
			w.comment("    ", p.Caption, p.Hint, note(p))
			w.line("    readonly %s: %s;", member(p.Name), w.value(p))
		}
	}
	w.line("  }")
	w.line("  interface %s_values {", name)
	for _, p := range c.Properties {
		if p.Type != engine.Password {
			w.comment("    ", p.Caption, p.Hint, note(p))
			w.line("    %s: %s;", member(p.Name), w.value(p))
		}
	}
	w.line("  }")
	w.line("  interface %s_input {", name)
	for _, p := range c.Properties {
		if p.Formula == nil {
			w.comment("    ", p.Caption, p.Hint, note(p))
			w.line("    %s%s: %s;", member(p.Name), optional(p), w.input(p))
		}
	}
	for _, s := range structs(c) {
		w.line("    %s?: { [attribute: string]: unknown };", member(s))
	}
	w.line("    _class?: string;")
	w.line("    _classVer?: string | null;")
	w.line("  }")
}

// comment is a JSDoc comment of what is not empty.
func (w *writer) comment(indent string, texts ...string) {
	var parts []string
	for _, t := range texts {
		t = strings.Join(strings.Fields(strings.ReplaceAll(t, "*/", "* /")), " ")
		if t != "" {
			parts = append(parts, t)
		}
	}
	if len(parts) > 0 {
		w.line("%s/** %s */", indent, strings.Join(parts, ". "))
	}
}

// optional is ? for what createItem can do without.
func optional(p *engine.Property) string {
	if p.Nullable || p.Optional || p.Autoassigned || p.Default != nil || p.Computed != nil || p.Type == engine.Collection || p.Back != nil {
		return "?"
	}
	return ""
}

// note says what a type cannot.
func note(p *engine.Property) string {
	switch {
	case p.Formula != nil:
		return "Calculated."
	case p.Type == engine.Reference && p.Target != nil:
		return "The id of an object of " + p.Target.FullName + "."
	case p.Type == engine.Collection && p.Target != nil:
		return "Objects of " + p.Target.FullName + "; null while they are not loaded."
	case p.Readonly:
		return "Not changed once it is set."
	}
	return ""
}

// structs are the names before the $ of the attributes of structs.
func structs(c *engine.Class) []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range c.Properties {
		name, _, found := strings.Cut(p.Name, "$")
		if found && name != "" && !seen[name] && c.Property(name) == nil {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// quoted is a string literal: that of JSON is one of TypeScript.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // of a string, into memory
	return strings.TrimSuffix(b.String(), "\n")
}

func quotedAll(names []string) []string {
	var all []string
	for _, n := range names {
		all = append(all, quoted(n))
	}
	return all
}

func union(types []string) string {
	if len(types) == 0 {
		return "never"
	}
	return strings.Join(types, " | ")
}

// member is a name as a member of an interface.
func member(name string) string {
	for i, r := range name {
		if !letter(r) && (i == 0 || r < '0' || r > '9') {
			return quoted(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '$'
}

// identifier is a name for the interface of a class, another one for each.
func identifier(name string, taken map[string]bool) string {
	mapped := strings.Map(func(r rune) rune {
		if letter(r) || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	// The generic declarations begin with a capital letter; a class may, too.
	id := "class_" + mapped
	for n := 2; taken[id] || taken[id+"_values"] || taken[id+"_input"]; n++ {
		id = "class_" + mapped + "_" + strconv.Itoa(n)
	}
	taken[id], taken[id+"_values"], taken[id+"_input"] = true, true, true
	return id
}
