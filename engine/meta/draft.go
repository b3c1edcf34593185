package meta

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// draft is a class while it is read and linked.
type draft struct {
	jsonfile.Object
	inline   bool
	class    *engine.Class
	own      []*attribute  // those of a struct attribute stand in its place once linked
	ancestor string        // as written, "" for none
	label    engine.Fields // the display string as a formula, own or inherited
	labelled *draft        // that label is written in
	keyGiven bool
	state    linkState
	faulty   bool // something stops the start: what depends on it is not checked
}

// classFields are the names that have a meaning in a class. history and
// metaVersion say nothing about data; display strings are always computed,
// whatever semanticCached says.
var classFields = []string{
	"name", "namespace", "version", "caption", "key", "semantic", "ancestor", "abstract", "isStruct", "properties",
	"creationTracker", "changeTracker", "creatorTracker", "editorTracker", "compositeIndexes", "semanticCached",
	"container", "history", "journaling", "cacheDependencies", "metaVersion",
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case engine.Fields:
		return len(v) == 0
	}
	return false
}

// head reads who a class is: its name, namespace and version. It returns nil
// when there is no usable name, so that nothing can be said about its relation
// to others.
func head(s Source, namespace string, faults *engine.Faults) *draft {
	fields, ok := s.Value.(engine.Fields)
	d := &draft{Object: jsonfile.Object{File: s.File, Path: s.Path, Fields: fields, Faults: faults, Lenient: true}, inline: s.Inline}
	if !ok {
		d.Fault(s.Path, jsonfile.Describe(s.Value), "an object that describes a class")
		return nil
	}
	c := &engine.Class{Name: d.Text("name"), Namespace: d.Text("namespace"), Version: d.Text("version"), Source: fields}
	d.class = c
	named := checkName(d.Object, "name", c.Name)
	if c.Namespace == "" {
		c.Namespace = namespace
	} else {
		named = checkName(d.Object, "namespace", c.Namespace) && named
	}
	c.FullName = engine.FullName(c.Name, c.Namespace)
	if !named {
		d.body(nil) // for its faults
		return nil
	}
	return d
}

// body reads everything else that a class says by itself.
func (d *draft) body(types userTypes) {
	c := d.class
	d.WarnRepeated()
	d.WarnUnknown(classFields)
	if c.Caption = d.Text("caption"); c.Caption == "" {
		c.Caption = c.Name
	}
	c.Abstract = d.Flag("abstract", false)
	c.Struct = d.Flag("isStruct", false)
	c.Journaling = d.Flag("journaling", false)
	d.Flag("semanticCached", false)
	d.ancestor = d.Text("ancestor")
	c.Container = d.Text("container")
	c.CreationTracker, c.ChangeTracker = d.Text("creationTracker"), d.Text("changeTracker")
	c.CreatorTracker, c.EditorTracker = d.Text("creatorTracker"), d.Text("editorTracker")
	d.parseSemantic()
	d.parseKey()
	d.parseIndexes()
	for _, path := range texts(d.Object, "cacheDependencies", "the path of a reference") {
		c.Dependencies = append(c.Dependencies, strings.Split(path, "."))
	}
	for i, v := range d.List("properties") {
		d.parseProperty(jsonfile.Element(d.At("properties"), i), v, types)
	}
}

// parseSemantic takes text, or a formula as an object.
func (d *draft) parseSemantic() {
	if v, ok := d.Value("semantic").(engine.Fields); ok {
		if len(v) > 0 {
			d.label, d.labelled = v, d
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
	case string:
		if v != "" {
			d.class.Key = []string{v}
		}
	case nil, []any:
		d.class.Key = texts(d.Object, "key", "the name of an attribute")
	default:
		d.keyGiven = true
		d.Fault(d.At("key"), jsonfile.Describe(v), `an array of attribute names, such as ["id"]`)
	}
}

// texts reads an array of texts, each of which is what one says.
func texts(o jsonfile.Object, field, one string) []string {
	var all []string
	for i, v := range o.List(field) {
		s, ok := v.(string)
		if !ok || s == "" {
			o.Fault(jsonfile.Element(o.At(field), i), jsonfile.Describe(v), one)
			continue
		}
		all = append(all, s)
	}
	return all
}

func (d *draft) parseIndexes() {
	const shape = `an object such as {"properties": ["surname", "name"], "unique": true}`
	for i, v := range d.List("compositeIndexes") {
		fields, ok := v.(engine.Fields)
		o := d.Within(jsonfile.Element(d.At("compositeIndexes"), i), fields)
		if !ok {
			o.Fault(o.Path, jsonfile.Describe(v), shape)
			continue
		}
		index := engine.CompositeIndex{Unique: o.Flag("unique", false), Properties: texts(o, "properties", "the name of an attribute")}
		if len(index.Properties) == 0 {
			o.Fault(o.Path, "no properties", shape)
			continue
		}
		d.class.Indexes = append(d.class.Indexes, index)
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
