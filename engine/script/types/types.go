// Package types generates the TypeScript declarations of an application: its classes, and the objects and functions
// that restsrv provides to scripts. Editors use them to complete the names of attributes and to mark misspelt ones.
// The declarations are not used when scripts run.
package types

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"restsrv/engine"
)

//go:embed *.d.ts
var fixed embed.FS

const heading = `/// <reference lib="es2023" />
// Written by restsrv types: what scripts of this application can use. Do not change it; after a change of a class,
// write it again. It needs no other declarations, and can stand beside those of browsers ("lib": ["dom"]).

`

// Declarations returns the text of the declarations for the given classes. The same classes give the same text.
func Declarations(classes []*engine.Class) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(heading)
	w := &writer{b: &b, names: map[*engine.Class]string{}}
	for _, name := range []string{"data", "query", "service", "testing", "globals", "modules"} {
		text, err := readFixed(name)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	text, err := readFixed(webFiles...)
	if err != nil {
		return nil, err
	}
	w.writeWeb(text)
	w.writeApplication(classes)
	return b.Bytes(), nil
}

// readFixed returns the content of embedded files, one after the other.
func readFixed(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := fixed.ReadFile(name + ".d.ts")
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// member matches a method of an interface in the declarations, and global a global name.
var (
	member = regexp.MustCompile(`(?m)^    (\w+)(?:<[^(\n]*>)?\(`)
	global = regexp.MustCompile(`(?m)^declare (?:const|var|function) (\w+)`)
)

// Methods returns the names of all methods of the objects that restsrv provides to scripts,
// and Globals the names of the global objects and functions. Both are sorted.
var (
	Methods = sync.OnceValue(func() []string { return namesIn(member, "data.d.ts", "query.d.ts", "service.d.ts") })
	Globals = sync.OnceValue(func() []string {
		return namesIn(global, "service.d.ts", "globals.d.ts", "web.d.ts", "streams.d.ts", "crypto.d.ts")
	})
)

func namesIn(declaration *regexp.Regexp, files ...string) []string {
	var names []string
	for _, file := range files {
		text, err := fixed.ReadFile(file)
		if err != nil {
			panic(err) // the files are embedded
		}
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// writer writes the declarations for classes.
type writer struct {
	b     *bytes.Buffer
	names map[*engine.Class]string // names of the interfaces
}

func (w *writer) writeLine(format string, args ...any) { fmt.Fprintf(w.b, format+"\n", args...) }

func (w *writer) writeApplication(classes []*engine.Class) {
	taken := map[string]bool{}
	count := map[string]int{}
	for _, c := range classes {
		w.names[c] = interfaceName(c.FullName, taken)
		count[c.Name]++
	}
	w.writeLine("declare namespace restsrv {")
	w.writeLine("  /** The classes of this application. */")
	w.writeLine("  interface Classes {")
	for _, c := range classes {
		w.writeEntry(c)
		if c.Namespace != "" && count[c.Name] == 1 {
			w.writeLine("    %s: Classes[%s];", quoteString(c.Name), quoteString(c.FullName))
		}
	}
	w.writeLine("  }")
	for _, c := range classes {
		w.writeClass(c)
	}
	w.writeLine("}")
}

// writeEntry writes the member for a class in the interface Classes. The generic declarations, such as the
// declaration of getList, use this interface to look up a class by its name.
func (w *writer) writeEntry(c *engine.Class) {
	var links, collections []string
	for _, p := range c.Properties {
		if p.Target == nil || w.names[p.Target] == "" {
			continue
		}
		links = append(links, fmt.Sprintf("%s: %s", quoteString(p.Name), quoteString(p.Target.FullName)))
		if p.Type == engine.Collection {
			collections = append(collections, quoteString(p.Name))
		}
	}
	name := w.names[c]
	w.writeLine("    %s: {", quoteString(c.FullName))
	w.writeLine("      item: %s; values: %s_values; input: %s_input;", name, name, name)
	w.writeLine("      links: { %s };", strings.Join(links, "; "))
	w.writeLine("      collections: %s; structs: %s;", unionType(collections), unionType(quotedAll(structNames(c))))
	w.writeLine("    };")
}

func (w *writer) writeClass(c *engine.Class) {
	name := w.names[c]
	w.writeComment("  ", c.FullName, c.Caption, "")
	w.writeLine("  interface %s extends Item<%s> {", name, quoteString(c.FullName))
	for _, p := range c.Properties {
		if p.Type != engine.Password && !itemMember(p.Name) {
			w.writeComment("    ", p.Caption, p.Hint, propertyNote(p))
			w.writeLine("    readonly %s: %s;", memberName(p.Name), w.valueType(p))
		}
	}
	w.writeLine("  }")
	w.writeLine("  interface %s_values {", name)
	for _, p := range c.Properties {
		if p.Type != engine.Password {
			w.writeComment("    ", p.Caption, p.Hint, propertyNote(p))
			w.writeLine("    %s: %s;", memberName(p.Name), w.valueType(p))
		}
	}
	w.writeLine("  }")
	w.writeLine("  interface %s_input {", name)
	for _, p := range c.Properties {
		if p.Formula == nil {
			w.writeComment("    ", p.Caption, p.Hint, propertyNote(p))
			w.writeLine("    %s%s: %s;", memberName(p.Name), optionalMark(p), w.inputType(p))
		}
	}
	for _, s := range structNames(c) {
		w.writeLine("    %s?: { [attribute: string]: unknown };", memberName(s))
	}
	w.writeLine("    _class?: string;")
	w.writeLine("    _classVer?: string | null;")
	w.writeLine("  }")
}

// writeComment writes a JSDoc comment with those texts that are not empty.
func (w *writer) writeComment(indent string, texts ...string) {
	var parts []string
	for _, t := range texts {
		t = strings.Join(strings.Fields(strings.ReplaceAll(t, "*/", "* /")), " ")
		if t != "" {
			parts = append(parts, t)
		}
	}
	if len(parts) > 0 {
		w.writeLine("%s/** %s */", indent, strings.Join(parts, ". "))
	}
}

// optionalMark returns "?" if createItem does not require a value for the property, otherwise "".
func optionalMark(p *engine.Property) string {
	if p.Nullable || p.Optional || p.Autoassigned || p.Default != nil || p.Computed != nil || p.Type == engine.Collection || p.Back != nil {
		return "?"
	}
	return ""
}

// propertyNote returns a remark about a property that its type does not express, such as "Calculated.", or "".
func propertyNote(p *engine.Property) string {
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

// structNames returns the names of the struct attributes of a class. The name of a part of a struct is the name of
// the struct, a $ and the name of the part, as in address$street.
func structNames(c *engine.Class) []string {
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

// quoteString returns a TypeScript string literal. JSON string literals are valid TypeScript.
func quoteString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // encoding a string into memory cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

func quotedAll(names []string) []string {
	var all []string
	for _, n := range names {
		all = append(all, quoteString(n))
	}
	return all
}

func unionType(types []string) string {
	if len(types) == 0 {
		return "never"
	}
	return strings.Join(types, " | ")
}

// memberName returns a name for use as a member of an interface. It is quoted if it is not an identifier.
func memberName(name string) string {
	for i, r := range name {
		if !isLetter(r) && (i == 0 || r < '0' || r > '9') {
			return quoteString(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '$'
}

// interfaceName returns a name for the interface of a class. The name differs from all names in taken. interfaceName
// adds the new name to taken.
func interfaceName(name string, taken map[string]bool) string {
	mapped := strings.Map(func(r rune) rune {
		if isLetter(r) || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	// The prefix is needed because a class may have the same name as one of the generic declarations. These begin
	// with a capital letter.
	id := "class_" + mapped
	for n := 2; taken[id] || taken[id+"_values"] || taken[id+"_input"]; n++ {
		id = "class_" + mapped + "_" + strconv.Itoa(n)
	}
	taken[id], taken[id+"_values"], taken[id+"_input"] = true, true, true
	return id
}
