package meta

import (
	"encoding/json"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// draft is a class that is being read and linked. Load creates the classes of a Repository from the drafts.
type draft struct {
	jsonfile.Object
	inline       bool
	class        *engine.Class
	own          []*attribute  // attributes that the class itself declares; expandStructures replaces struct attributes by their parts
	ancestor     string        // name of the ancestor as written; "" if the class has no ancestor
	parent       *draft        // draft of the ancestor; nil if there is no ancestor or the ancestor does not exist
	label        engine.Fields // declared or inherited display string, if it is written as a formula
	labelled     *draft        // the draft that declares label
	keyGiven     bool
	otherKey     []string // the key as written, if it differs from the key of the ancestor
	indexAt      []string // JSON paths of the composite indexes
	dependencyAt []string // JSON paths of the entries of cacheDependencies
	state        linkState
	faulty       bool                  // the class has a fatal fault, so classes that depend on it are not checked
	resolved     map[int]engine.Fields // changed entries of the field properties, by position; nil for an entry that is left out
}

// classFields are the known fields of a class. history, metaVersion and semanticCached are accepted but have no
// effect: history and metaVersion do not concern data, and display strings are always computed.
var classFields = []string{
	"name", "namespace", "version", "caption", "key", "semantic", "ancestor", "abstract", "isStruct", "properties",
	"creationTracker", "changeTracker", "creatorTracker", "editorTracker", "compositeIndexes", "semanticCached",
	"container", "history", "journaling", "cacheDependencies", "metaVersion",
}

func isEmpty(v any) bool {
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

// readHead reads the name, namespace and version of a class. If the class has no usable name, readHead returns nil,
// and the class is left out.
func readHead(s Source, namespace string, faults *engine.Faults) *draft {
	fields, ok := s.Value.(engine.Fields)
	d := &draft{Object: jsonfile.Object{File: s.File, Path: s.Path, Fields: fields, Faults: faults, Lenient: true}, inline: s.Inline}
	if !ok {
		d.Report(mistake.ClassShape, s.Path, jsonfile.Describe(s.Value), "an object that describes a class")
		return nil
	}
	name, named := validName(d.Object, mistake.ClassName)
	c := &engine.Class{Name: name, Namespace: d.Text("namespace"), Source: fields}
	d.class = c
	if c.Namespace == "" {
		c.Namespace = namespace
	} else if !jsonfile.ValidName(c.Namespace) {
		d.Report(mistake.ClassName, d.At("namespace"), engine.Quote(c.Namespace), jsonfile.NameRule)
		named = false
	}
	if !named {
		return nil
	}
	c.Version = d.Text("version")
	c.FullName = engine.FullName(c.Name, c.Namespace)
	return d
}

// readBody reads the other fields of a class. It does not need other classes.
func (d *draft) readBody(types userTypes) {
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
	d.parseAncestor()
	c.Container = d.Text("container")
	c.CreationTracker, c.ChangeTracker = d.Text("creationTracker"), d.Text("changeTracker")
	c.CreatorTracker, c.EditorTracker = d.Text("creatorTracker"), d.Text("editorTracker")
	d.parseSemantic()
	d.parseKey()
	d.parseIndexes()
	for i, v := range d.List("cacheDependencies") {
		at := jsonfile.Element(d.At("cacheDependencies"), i)
		path, ok := v.(string)
		if !ok || path == "" {
			d.Report(mistake.DependencyUnknown, at, jsonfile.Describe(v), "the path of a reference")
			continue
		}
		c.Dependencies, d.dependencyAt = append(c.Dependencies, strings.Split(path, ".")), append(d.dependencyAt, at)
	}
	d.parseProperties(types)
}

// parseAncestor reads the name of the ancestor. The values null, false and 0 mean that there is no ancestor. If the
// value is neither of these nor text, the class is left out, as for an ancestor that does not exist: the key, the
// table and the permissions of the class would come from the ancestor.
func (d *draft) parseAncestor() {
	v := d.Value("ancestor")
	switch _, text := v.(string); {
	case text || v == nil || v == false || v == json.Number("0"):
		d.ancestor = d.Text("ancestor")
	default:
		d.Report(mistake.AncestorMissing, d.At("ancestor"), jsonfile.Describe(v), "the name of a class")
		d.state = broken
	}
}

// parseSemantic reads the display string, which is a text or, as an object, a formula.
func (d *draft) parseSemantic() {
	if v, ok := d.Value("semantic").(engine.Fields); ok {
		if len(v) > 0 {
			d.label, d.labelled = v, d
		}
		return
	}
	d.class.Semantic = d.Text("semantic")
}

// parseKey reads the key, which is an array of names or a single name. A value of another type counts as absent.
func (d *draft) parseKey() {
	switch v := d.Value("key").(type) {
	case string:
		if v != "" {
			d.class.Key = []string{v}
		}
	case []any:
		for _, name := range readTexts(d.Object, "key", "the name of an attribute") {
			if slices.Contains(d.class.Key, name) {
				d.Report(mistake.KeyTwice, d.At("key"), engine.Quote(name)+" again", "each attribute of the key once")
				continue
			}
			d.class.Key = append(d.class.Key, name)
		}
	case engine.Fields:
		if len(v) > 0 {
			d.List("key")
		}
	default:
		d.List("key")
	}
	d.keyGiven = len(d.class.Key) > 0
}

// readTexts reads an array of texts. It reports and skips elements that are not text or are empty. The parameter one
// is the description of a valid element in such a report.
func readTexts(o jsonfile.Object, field, one string) []string {
	var all []string
	for i, v := range o.List(field) {
		s, ok := v.(string)
		if !ok || s == "" {
			o.Report(mistake.NotText, jsonfile.Element(o.At(field), i), jsonfile.Describe(v), one)
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
			o.Report(mistake.IndexShape, o.Path, jsonfile.Describe(v), shape)
			continue
		}
		names, ok := o.Value("properties").([]any)
		index := engine.CompositeIndex{}
		for _, v := range names {
			name, text := v.(string)
			ok = ok && text && name != ""
			index.Properties = append(index.Properties, name)
		}
		if !ok || len(names) == 0 {
			o.Report(mistake.IndexShape, o.Path, "no names of attributes in properties", shape)
			continue
		}
		index.Unique = o.Flag("unique", false)
		d.class.Indexes = append(d.class.Indexes, index)
		d.indexAt = append(d.indexAt, o.At("properties"))
	}
}

// validName reads the field name of o. If the value is not a valid name, validName reports rule as a mistake, and ok
// is false.
func validName(o jsonfile.Object, rule *mistake.Rule) (name string, ok bool) {
	v := o.Value("name")
	name, _ = v.(string)
	switch {
	case jsonfile.ValidName(name):
		return name, true
	case v == nil:
		o.Report(rule, o.Path, "no name", jsonfile.NameRule)
	default:
		o.Report(rule, o.At("name"), jsonfile.Describe(v), jsonfile.NameRule)
	}
	return name, false
}
