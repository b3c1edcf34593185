package deploy

import (
	"slices"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// Records turns the inline objects into records ready to save, in the order of
// the file. Every object that its class does not take is a fault; the records
// are complete only when there is none.
func (c *Config) Records(meta engine.MetaRepository) ([]engine.Record, engine.Faults) {
	var faults engine.Faults
	var names []string
	for _, class := range meta.Classes() {
		names = append(names, class.FullName)
	}
	records := make([]engine.Record, 0, len(c.Objects))
	for _, in := range c.Objects {
		o := jsonfile.Object{File: c.File, Path: in.Path, Fields: in.Values, Faults: &faults}
		class, err := meta.Class(in.Class)
		switch {
		case in.Class == "":
			continue // a fault of Load
		case err != nil:
			noClass(o, in.Class, names)
			continue
		case class.Abstract:
			o.Fault(o.At("_class"), "abstract class "+engine.Quote(in.Class), "a class that can have items")
			continue
		}
		values := bind(o, class)
		checkRequired(o, class, values, in.ID != "")
		records = append(records, engine.Record{Class: class, ID: in.ID, Values: values})
	}
	return records, faults
}

// UnknownClasses finds the inline objects of classes that are none of the
// names. It is what can be said of objects while the classes have faults.
func (c *Config) UnknownClasses(names []string) engine.Faults {
	var faults engine.Faults
	for _, in := range c.Objects {
		if in.Class != "" && !slices.Contains(names, in.Class) {
			noClass(jsonfile.Object{File: c.File, Path: in.Path, Fields: in.Values, Faults: &faults}, in.Class, names)
		}
	}
	return faults
}

func noClass(o jsonfile.Object, name string, names []string) {
	o.Fault(o.At("_class"), "class "+engine.Quote(name)+", which does not exist", jsonfile.Choice(name, names))
}

func bind(o jsonfile.Object, class *engine.Class) engine.Values {
	values := engine.NewValues(class)
	for _, f := range o.Fields {
		p := class.Property(f.Name)
		if p == nil {
			if !engine.IsSystemName(f.Name) {
				var names []string
				for _, p := range class.Properties {
					names = append(names, p.Name)
				}
				o.Fault(o.At(f.Name), "attribute "+engine.Quote(f.Name)+", which class "+class.FullName+" does not have", jsonfile.Choice(f.Name, names))
			}
			continue
		}
		one, _, err := class.Bind(engine.Fields{f}, engine.Strict)
		if err == nil {
			values[p.Index] = one[p.Index]
			continue
		}
		values[p.Index] = false // given, though wrong
		expected := "a value of type " + p.Type.String()
		if e, ok := err.(*engine.Error); ok && e.Reason == "size" {
			expected = "at most " + strconv.Itoa(p.Size) + " characters"
		}
		o.Fault(o.At(f.Name), jsonfile.Describe(f.Value), expected)
	}
	return values
}

func checkRequired(o jsonfile.Object, class *engine.Class, values engine.Values, identified bool) {
	stamped := []string{class.CreationTracker, class.ChangeTracker, class.CreatorTracker, class.EditorTracker}
	for i, p := range class.Properties {
		generated := values[i] == engine.Absent && (p.Default != nil || p.Computed != nil || p.Autoassigned || !p.Stored() ||
			slices.Contains(stamped, p.Name) || identified && slices.Contains(class.KeyProperties(), p))
		if (values[i] == nil || values[i] == engine.Absent) && !p.Nullable && !generated {
			o.Fault(o.Path, "no "+p.Name, "a value of attribute "+engine.Quote(p.Name)+", which must have one")
		}
	}
}
