package meta

import (
	"encoding/json"
	"errors"
	"regexp"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// loading reads the fields that determine the members of collections and the order of these members.
type loading struct{ *linker }

// readLoading reads the conditions and the order of the members of collections. It ignores the same fields of
// references, because only forms use them.
func (l loading) readLoading(usable []*draft) {
	for _, d := range usable {
		for _, p := range d.class.Properties {
			if p.Type != engine.Collection || p.Target == nil || l.byName[p.Target.FullName].faulty {
				continue
			}
			a := l.attributeOf(p)
			l.readSorting(a, p)
			l.readConditions(d, a, p)
		}
	}
}

func (l loading) readSorting(a *attribute, p *engine.Property) {
	const shape = `an object such as {"property": "name", "mode": 0}, mode 1 for descending`
	list, ok := a.Value("selSorting").([]any)
	if v := a.Value("selSorting"); !ok && !isEmpty(v) {
		l.report(a.Object, mistake.SortingShape, a.At("selSorting"), jsonfile.Describe(v), "an array")
	}
	for i, v := range list {
		path := jsonfile.Element(a.At("selSorting"), i)
		fields, _ := v.(engine.Fields)
		field, _ := fields.Get("property")
		name, _ := field.(string)
		if name == "" {
			l.report(a.Object, mistake.SortingShape, path, jsonfile.Describe(v), shape)
			continue
		}
		q := p.Target.Property(name)
		if q == nil {
			l.report(a.Object, mistake.SortingAttribute, jsonfile.Member(path, "property"), engine.Quote(name)+", which is no attribute of class "+p.Target.FullName, jsonfile.Choice(name, attributeNames(p.Target)))
			continue
		}
		mode, _ := fields.Get("mode")
		switch jsonfile.Describe(mode) {
		case "null", "0", "1", "true", "false":
		default:
			l.report(a.Object, mistake.SortingMode, jsonfile.Member(path, "mode"), jsonfile.Describe(mode), "0 for ascending or 1 for descending")
		}
		p.Sorting = append(p.Sorting, engine.Sort{Property: q, Descending: isDescending(mode)})
	}
}

// one matches text for which parseInt of JavaScript returns 1.
var one = regexp.MustCompile(`^\s*\+?0*1(\D|$)`)

// isDescending reports whether a mode of selSorting means descending order. As in IONDV, this is the case if parseInt
// returns 1 for the mode.
func isDescending(mode any) bool {
	switch mode := mode.(type) {
	case bool:
		return mode
	case string:
		return one.MatchString(mode)
	case json.Number:
		f, err := mode.Float64()
		return err == nil && f >= 1 && f < 2
	}
	return false
}

// readConditions reads selConditions, the filter for the members of a collection. If the filter is invalid, the
// collection is empty, because a mistake must not disclose items.
func (l loading) readConditions(d *draft, a *attribute, p *engine.Property) {
	v, path := a.Value("selConditions"), a.At("selConditions")
	if isEmpty(v) {
		return
	}
	if fields, ok := v.(engine.Fields); ok {
		if operation, given := fields.Get("operation"); given && p.Target.Property("operation") == nil {
			l.report(a.Object, mistake.ConditionsNoList, path, "one condition, with operation "+jsonfile.Describe(operation), "an array of conditions")
			return
		}
	}
	f, missing, err := query.ParseMemberFilter(p.Target, d.class, v)
	if err != nil {
		l.report(a.Object, mistake.ConditionsInvalid, path, jsonfile.Describe(v), "conditions on objects of class "+p.Target.FullName+": "+errorText(err))
		p.Conditions = engine.Never()
		never := engine.Fields{{Name: "property", Value: p.Target.Key[0]}, {Name: "operation", Value: json.Number("2")}}
		l.addEdit(a.Object, path, func(any) (any, bool) { return []any{never}, true })
		return
	}
	for _, err := range missing {
		l.report(a.Object, mistake.ConditionsAttribute, path, jsonfile.Describe(v)+", where "+a.nameDefinition(d, errorText(err)), "attributes of class "+p.Target.FullName+", or $ and attributes of class "+a.property.Definition)
	}
	p.Conditions = f
}

// errorText returns the message of an error, without the code.
func errorText(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
