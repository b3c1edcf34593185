package deploy

import (
	"encoding/json"
	"slices"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// readObject reads one of the objects in deploy.json. If it is not an object or has no class, it is
// reported and left out.
func (l *loader) readObject(top jsonfile.Object, path string, v any) {
	fields, ok := v.(engine.Fields)
	o := jsonfile.Object{File: top.File, Path: path, Fields: fields, Faults: l.faults}
	if !ok {
		o.Report(mistake.InlineObject, path, jsonfile.Describe(v), `an object such as {"_class": "note@sample", ...}`)
		return
	}
	o.WarnRepeated()
	in := Object{Path: path}
	switch name := o.Value("_class").(type) {
	case string:
		in.Class = name
	case nil:
	default:
		o.Report(mistake.InlineObject, o.At("_class"), jsonfile.Describe(name), "the name of a class")
		return
	}
	if in.Class == "" {
		o.Report(mistake.InlineObject, path, "no _class", `the name of a class, such as "_class": "note@sample"`)
		return
	}
	in.Class = l.fullName(in.Class)
	switch id := o.Value("_id").(type) {
	case string:
		in.ID = id
	case json.Number:
		in.ID = string(id)
	case nil:
	default:
		o.Report(mistake.InlineObject, o.At("_id"), jsonfile.Describe(id), "text")
		return
	}
	for _, f := range fields {
		if f.Name != "_class" && f.Name != "_id" {
			in.Values = append(in.Values, f)
		}
	}
	l.config.Objects = append(l.config.Objects, in)
}

// Records converts the objects in deploy.json to records for the database, in the order of the
// file. If an object is not valid for its class, Records reports the reason and leaves the object
// out. places holds the JSON path of each record.
func (c *Config) Records(meta engine.MetaRepository) (records []engine.Record, places []string, faults engine.Faults) {
	var names []string
	for _, class := range meta.Classes() {
		names = append(names, class.FullName)
	}
	for _, in := range c.Objects {
		o := jsonfile.Object{File: c.File, Path: in.Path, Fields: in.Values, Faults: &faults}
		class, err := meta.Class(in.Class)
		switch {
		case err != nil:
			noClass(o, in.Class, names)
			continue
		case class.Abstract:
			o.Report(mistake.InlineObject, o.At("_class"), "abstract class "+engine.Quote(in.Class), "a class that can have items")
			continue
		}
		before := len(faults)
		values := bindValues(o, class)
		checkRequired(o, class, values, in.ID != "")
		if len(faults) == before {
			records, places = append(records, engine.Record{Class: class, ID: in.ID, Values: values}), append(places, in.Path)
		}
	}
	return records, places, faults
}

// UnknownClasses reports the objects whose class is not in names. Use it instead of Records if
// the classes cannot be loaded because of faults.
func (c *Config) UnknownClasses(names []string) engine.Faults {
	var faults engine.Faults
	for _, in := range c.Objects {
		if !slices.Contains(names, in.Class) {
			noClass(jsonfile.Object{File: c.File, Path: in.Path, Fields: in.Values, Faults: &faults}, in.Class, names)
		}
	}
	return faults
}

func noClass(o jsonfile.Object, name string, names []string) {
	o.Report(mistake.InlineObject, o.At("_class"), "class "+engine.Quote(name)+", which does not exist", jsonfile.Choice(name, names))
}

func bindValues(o jsonfile.Object, class *engine.Class) engine.Values {
	values := engine.NewValues(class)
	for _, f := range o.Fields {
		p := class.Property(f.Name)
		if p == nil {
			if !engine.IsSystemName(f.Name) {
				var names []string
				for _, p := range class.Properties {
					names = append(names, p.Name)
				}
				o.Report(mistake.InlineObject, o.At(f.Name), "attribute "+engine.Quote(f.Name)+", which class "+class.FullName+" does not have", jsonfile.Choice(f.Name, names))
			}
			continue
		}
		one, _, err := class.Bind(engine.Fields{f}, engine.Strict)
		if err == nil {
			values[p.Index] = one[p.Index]
			continue
		}
		values[p.Index] = false // so that checkRequired does not report the attribute again
		expected := "a value of type " + p.Type.String()
		if e, ok := err.(*engine.Error); ok && e.Reason == "size" {
			expected = "at most " + strconv.Itoa(p.Size) + " characters"
		}
		o.Report(mistake.InlineObject, o.At(f.Name), jsonfile.Describe(f.Value), expected)
	}
	return values
}

func checkRequired(o jsonfile.Object, class *engine.Class, values engine.Values, identified bool) {
	stamped := []string{class.CreationTracker, class.ChangeTracker, class.CreatorTracker, class.EditorTracker}
	for i, p := range class.Properties {
		generated := values[i] == engine.Absent && (p.Optional || p.Default != nil || p.Computed != nil || p.Autoassigned || !p.Stored() ||
			slices.Contains(stamped, p.Name) || identified && slices.Contains(class.KeyProperties(), p))
		if (values[i] == nil || values[i] == engine.Absent) && !p.Nullable && !generated {
			o.Report(mistake.InlineObject, o.Path, "no "+p.Name, "a value of attribute "+engine.Quote(p.Name)+", which must have one")
		}
	}
}
