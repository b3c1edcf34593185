package meta

import (
	"errors"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// loading reads which members of a collection are loaded and in which order.
// For references the same fields only narrow the choice in forms.
func (l *linker) loading(usable []*draft) {
	for _, d := range usable {
		for _, p := range d.class.Properties {
			if p.Type != engine.Collection || p.Target == nil || l.byName[p.Target.FullName].faulty {
				continue
			}
			a := l.attribute(p)
			l.sorting(a, p)
			l.conditions(a, p)
		}
	}
}

func (l *linker) sorting(a *attribute, p *engine.Property) {
	const shape = `an object such as {"property": "name", "mode": 0}, mode 1 for descending`
	list, ok := a.Value("selSorting").([]any)
	if v := a.Value("selSorting"); !ok && v != nil {
		l.fault(a, a.At("selSorting"), jsonfile.Describe(v), "an array")
	}
	for i, v := range list {
		path := jsonfile.Element(a.At("selSorting"), i)
		fields, _ := v.(engine.Fields)
		field, _ := fields.Get("property")
		name, _ := field.(string)
		if name == "" {
			l.fault(a, path, jsonfile.Describe(v), shape)
			continue
		}
		q := p.Target.Property(name)
		if q == nil {
			l.fault(a, jsonfile.Member(path, "property"), engine.Quote(name)+", which is no attribute of class "+p.Target.FullName, jsonfile.Choice(name, attributeNames(p.Target)))
			continue
		}
		mode, _ := fields.Get("mode")
		descending := false
		switch jsonfile.Describe(mode) {
		case "null", "0", "false":
		case "1", "true":
			descending = true
		default:
			l.fault(a, jsonfile.Member(path, "mode"), jsonfile.Describe(mode), "0 for ascending or 1 for descending")
		}
		p.Sorting = append(p.Sorting, engine.Sort{Property: q, Descending: descending})
	}
}

func (l *linker) conditions(a *attribute, p *engine.Property) {
	v := a.Value("selConditions")
	if empty(v) {
		return
	}
	f, err := engine.ParseFilter(p.Target, v, time.Time{}) // now is when the members are loaded
	if err != nil {
		l.fault(a, a.At("selConditions"), jsonfile.Describe(v), "conditions on objects of class "+p.Target.FullName+": "+message(err))
		return
	}
	p.Conditions = f
}

// message is what an error tells people.
func message(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
