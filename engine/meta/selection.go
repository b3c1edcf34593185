package meta

import (
	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// selections reads the values that forms offer for attributes.
type selections struct{ *linker }

// readSelection reads selectionProvider, which contains the values that forms should offer for an attribute, and their
// labels.
func (l selections) readSelection(d *draft, a *attribute, p *engine.Property) {
	v := a.Value("selectionProvider")
	if isEmpty(v) {
		return
	}
	path := a.At("selectionProvider")
	fields, ok := v.(engine.Fields)
	if !ok {
		l.report(a.Object, mistake.SelectionType, path, jsonfile.Describe(v), `an object such as {"type": "SIMPLE", "list": [{"key": "a", "value": "Label"}]}`)
		l.dropField(p, "selectionProvider")
		return
	}
	kind, _ := fields.Get("type")
	switch kind {
	case "SIMPLE", nil, "":
		list, _ := fields.Get("list")
		p.Selection = &engine.Selection{Rows: []engine.SelectionRow{{Values: l.selectionValues(a, jsonfile.Member(path, "list"), list)}}}
	case "MATRIX":
		p.Selection = l.readMatrix(d, a, fields, jsonfile.Member(path, "matrix"))
	case "HQL":
		l.warn(a, jsonfile.Member(path, "type"), `"HQL"`, `"SIMPLE" or "MATRIX": the attribute has no labels`)
	default:
		l.report(a.Object, mistake.SelectionType, jsonfile.Member(path, "type"), jsonfile.Describe(kind), `"SIMPLE" or "MATRIX"`)
		l.dropField(p, "selectionProvider")
	}
}

func (l selections) readMatrix(d *draft, a *attribute, fields engine.Fields, path string) *engine.Selection {
	v, _ := fields.Get("matrix")
	list, ok := v.([]any)
	if !ok {
		found := "no matrix"
		if v != nil {
			found = jsonfile.Describe(v)
		}
		l.report(a.Object, mistake.SelectionMatrix, path, found, "an array of rows")
	}
	s := &engine.Selection{}
	for i, v := range list {
		at := jsonfile.Element(path, i)
		row, ok := v.(engine.Fields)
		if !ok {
			l.report(a.Object, mistake.SelectionElement, at, jsonfile.Describe(v), `an object such as {"conditions": {"eq": ["$state", "new"]}, "result": [{"key": "a", "value": "Label"}]}`)
			continue
		}
		result, _ := row.Get("result")
		r := engine.SelectionRow{Values: l.selectionValues(a, jsonfile.Member(at, "result"), result)}
		if v, _ := row.Get("conditions"); !isEmpty(v) {
			if r.Condition = l.rowCondition(d, a, jsonfile.Member(at, "conditions"), v); r.Condition == nil {
				continue
			}
		}
		s.Rows = append(s.Rows, r)
	}
	return s
}

func (l selections) rowCondition(d *draft, a *attribute, path string, v any) engine.Formula {
	source, err := translateConditions(d.class, v)
	var f engine.Formula
	if err == nil {
		f, err = l.strictFormula(d, a, source)
	}
	if err != nil {
		l.report(a.Object, mistake.SelectionCondition, path, jsonfile.Describe(v), "a condition: "+errorText(err))
		return nil
	}
	return f
}

// strictFormula compiles a formula. In contrast to compileFormula, it returns an error if an attribute in the formula
// does not exist.
func (l selections) strictFormula(d *draft, a *attribute, source any) (engine.Formula, error) {
	f, err := formula.Compile(d.class, a.resolveParts(d.class, source))
	if err != nil {
		return nil, err
	}
	return f, formula.Check(f, l.findClass)
}

func (l selections) selectionValues(a *attribute, path string, v any) []engine.SelectionValue {
	list, ok := v.([]any)
	if !ok && v != nil {
		l.report(a.Object, mistake.NotArray, path, jsonfile.Describe(v), "an array")
	}
	values := make([]engine.SelectionValue, 0, len(list))
	for i, v := range list {
		fields, ok := v.(engine.Fields)
		if !ok {
			l.report(a.Object, mistake.SelectionElement, jsonfile.Element(path, i), jsonfile.Describe(v), `an object such as {"key": "a", "value": "Label"}`)
			continue
		}
		key, _ := fields.Get("key")
		label, _ := fields.Get("value")
		text, ok := label.(string)
		if !ok {
			if structured := structuredJSON(label); structured {
				l.report(a.Object, mistake.SelectionElement, jsonfile.Element(path, i), jsonfile.Describe(label), "a label as text")
				continue
			}
			text = engine.ValueText(label)
		}
		values = append(values, engine.SelectionValue{Key: key, Label: text})
	}
	return values
}

func structuredJSON(v any) bool {
	switch v.(type) {
	case []any, engine.Fields:
		return true
	}
	return false
}
