package meta

import (
	"fmt"
	"strings"

	"restsrv/engine"
)

// dump writes all fields of a class.
func dump(b *strings.Builder, c *engine.Class) {
	fmt.Fprintf(b, "%s caption=%q key=%s semantic=%q version=%q", c.FullName, c.Caption, strings.Join(c.Key, ","), c.Semantic, c.Version)
	flags(b, []flagged{{c.Abstract, "abstract"}, {c.Struct, "struct"}, {c.Journaling, "journaling"}})
	named(b, []pair{
		{"label", c.Label}, {"container", c.Container},
		{"created", c.CreationTracker}, {"changed", c.ChangeTracker}, {"creator", c.CreatorTracker}, {"editor", c.EditorTracker},
	})
	for _, i := range c.Indexes {
		fmt.Fprintf(b, " index=%s", strings.Join(i.Properties, ","))
		flags(b, []flagged{{i.Unique, "unique"}})
	}
	for _, path := range c.Dependencies {
		fmt.Fprintf(b, " cache=%s", strings.Join(path, "."))
	}
	if c.Ancestor != nil {
		fmt.Fprintf(b, " ancestor=%s", c.Ancestor.FullName)
	}
	for i, d := range c.Descendants {
		fmt.Fprintf(b, "%s%s", []string{" descendants=", ","}[min(i, 1)], d.FullName)
	}
	b.WriteByte('\n')
	for _, p := range c.Properties {
		dumpProperty(b, c, p)
	}
}

func dumpProperty(b *strings.Builder, c *engine.Class, p *engine.Property) {
	fmt.Fprintf(b, "  %d %s caption=%q type=%s", p.OrderNumber, p.Name, p.Caption, p.Type)
	flags(b, []flagged{
		{p.Nullable, "nullable"}, {p.Optional, "optional"}, {p.Readonly, "readonly"}, {p.Indexed, "indexed"}, {p.Unique, "unique"},
		{p.Autoassigned, "autoassigned"}, {p.Search, "search"}, {p.Eager, "eager"}, {p.Cached, "cached"},
	})
	if p.Size != 0 || p.Decimals != 0 {
		fmt.Fprintf(b, " size=%d decimals=%d", p.Size, p.Decimals)
	}
	if p.Default != nil {
		fmt.Fprintf(b, " default=%s", engine.AppendValue(nil, p.Default))
	}
	named(b, []pair{
		{"computed", p.Computed}, {"formula", p.Formula}, {"mode", p.Mode}, {"files", strings.Join(p.FileTypes, ",")},
		{"count", p.MaxFileCount}, {"hint", p.Hint}, {"back", p.Back}, {"binding", p.Binding}, {"mirror", p.Mirror},
	})
	if p.Target != nil {
		fmt.Fprintf(b, " target=%s holds=%s", p.Target.FullName, p.ValueType())
	}
	for _, s := range p.Subclasses {
		fmt.Fprintf(b, " sub=%s", s.FullName)
	}
	for _, s := range p.Sorting {
		fmt.Fprintf(b, " sort=%s", s.Property.Name)
		flags(b, []flagged{{s.Descending, "descending"}})
	}
	flags(b, []flagged{{p.Display != nil, "displayed"}, {p.Conditions != nil, "filtered"}})
	if p.Definition != c.FullName {
		b.WriteString(" from=" + p.Definition)
	}
	b.WriteByte('\n')
	if p.Selection != nil {
		for _, row := range p.Selection.Rows {
			b.WriteString("    offers")
			named(b, []pair{{"when", row.Condition}})
			for _, v := range row.Values {
				fmt.Fprintf(b, " %s=%q", engine.AppendValue(nil, v.Key), v.Label)
			}
			b.WriteByte('\n')
		}
	}
}

type flagged struct {
	on   bool
	name string
}

func flags(b *strings.Builder, all []flagged) {
	for _, f := range all {
		if f.on {
			b.WriteString(" " + f.name)
		}
	}
}

type pair struct {
	name  string
	value any
}

// named writes each value with its name. It leaves out values that are zero or nil.
func named(b *strings.Builder, all []pair) {
	for _, n := range all {
		switch v := n.value.(type) {
		case engine.Formula:
			fmt.Fprintf(b, " %s=%v", n.name, v)
		case *engine.Property:
			if v != nil {
				fmt.Fprintf(b, " %s=%s.%s", n.name, v.Definition, v.Name)
			}
		case string:
			if v != "" {
				fmt.Fprintf(b, " %s=%q", n.name, v)
			}
		case int:
			if v != 0 {
				fmt.Fprintf(b, " %s=%d", n.name, v)
			}
		}
	}
}
