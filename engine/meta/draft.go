package meta

import (
	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// draft is a class while it is read and linked.
type draft struct {
	jsonfile.Object
	inline   bool
	class    *engine.Class
	own      []*attribute
	ancestor string // as written, "" for none
	keyGiven bool
	state    linkState
}

// attribute is a property while it is read and linked.
type attribute struct {
	property  *engine.Property
	path      string
	numbered  bool // orderNumber was given
	assigning bool // autoassigned was given
	typed     bool // the type is one of class metadata
}

// The fields of a class that say something about data, and those that do not.
var (
	classFields = []string{
		"name", "namespace", "version", "caption", "key", "semantic", "ancestor", "abstract", "isStruct", "properties",
		"creationTracker", "changeTracker", "creatorTracker", "editorTracker", "compositeIndexes", "semanticCached",
		"container", "history", "journaling", "cacheDependencies", "metaVersion",
	}
	unsupportedClassFields = []unsupported{
		{"creationTracker", "trackers are"}, {"changeTracker", "trackers are"},
		{"creatorTracker", "trackers are"}, {"editorTracker", "trackers are"},
		{"compositeIndexes", "composite indexes are"}, {"semanticCached", "stored display strings are"},
	}
)

// unsupported is a field that must be empty, and what it would ask for.
type unsupported struct{ name, what string }

func refuse(o jsonfile.Object, fields []unsupported) {
	for _, u := range fields {
		if v := o.Value(u.name); !empty(v) {
			o.Fault(o.At(u.name), jsonfile.Describe(v), "nothing: "+u.what+" not supported yet")
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case engine.Fields:
		return len(v) == 0
	}
	return false
}

// parse reads one class by itself. It returns nil when the class has no usable
// name, so that nothing can be said about its relation to others.
func parse(s Source, namespace string, faults *engine.Faults) *draft {
	fields, ok := s.Value.(engine.Fields)
	d := &draft{Object: jsonfile.Object{File: s.File, Path: s.Path, Fields: fields, Faults: faults}, inline: s.Inline}
	if !ok {
		d.Fault(s.Path, jsonfile.Describe(s.Value), "an object that describes a class")
		return nil
	}
	d.WarnRepeated()
	d.WarnUnknown(classFields)
	c := &engine.Class{Name: d.Text("name"), Namespace: d.Text("namespace"), Version: d.Text("version")}
	d.class = c
	named := checkName(d.Object, "name", c.Name)
	if c.Namespace == "" {
		c.Namespace = namespace
	} else {
		named = checkName(d.Object, "namespace", c.Namespace) && named
	}
	c.FullName = engine.FullName(c.Name, c.Namespace)
	if c.Caption = d.Text("caption"); c.Caption == "" {
		c.Caption = c.Name
	}
	c.Abstract = d.Flag("abstract", false)
	d.Flag("isStruct", false)
	d.ancestor = d.Text("ancestor")
	d.parseSemantic()
	d.parseKey()
	refuse(d.Object, unsupportedClassFields)
	for i, v := range d.List("properties") {
		d.parseProperty(jsonfile.Element(d.At("properties"), i), v)
	}
	if !named {
		return nil
	}
	return d
}

func (d *draft) parseSemantic() {
	if v, ok := d.Value("semantic").(engine.Fields); ok {
		if len(v) > 0 {
			d.Fault(d.At("semantic"), "an object", `text such as "name| |city": formulas are not supported yet`)
		}
		return
	}
	d.class.Semantic = d.Text("semantic")
}

// parseKey takes an array of names or one bare name. A key that is wrong counts
// as given, so that nothing more is said of it.
func (d *draft) parseKey() {
	d.keyGiven = !empty(d.Value("key"))
	switch v := d.Value("key").(type) {
	case nil:
	case string:
		if v != "" {
			d.class.Key = []string{v}
		}
	case []any:
		for i, e := range v {
			name, ok := e.(string)
			if !ok || name == "" {
				d.Fault(jsonfile.Element(d.At("key"), i), jsonfile.Describe(e), "the name of an attribute")
				continue
			}
			d.class.Key = append(d.class.Key, name)
		}
	default:
		d.keyGiven = true
		d.Fault(d.At("key"), jsonfile.Describe(v), `an array of one attribute name, such as ["id"]`)
	}
}

// checkName reports whether s, which the field holds, can be a name.
func checkName(o jsonfile.Object, field, s string) bool {
	if jsonfile.ValidName(s) {
		return true
	}
	switch v := o.Value(field).(type) {
	case nil:
		o.Fault(o.Path, "no "+field, jsonfile.NameRule)
	case string:
		o.Fault(o.At(field), jsonfile.Describe(v), jsonfile.NameRule)
	}
	return false // another type is a fault already
}
