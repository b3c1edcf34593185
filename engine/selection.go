package engine

import (
	"context"
	"encoding/json"
	"strings"
)

// isConditional reports whether a row of the list has a condition, so that different items can have different allowed
// values.
func (s *Selection) isConditional() bool {
	for _, row := range s.Rows {
		if row.Condition != nil {
			return true
		}
	}
	return false
}

// offeredValues returns the values that are allowed for the item: those in rows without a condition, and in rows with
// a condition that holds.
func (s *Selection) offeredValues(ctx context.Context, it *Item, data FormulaData) ([]SelectionValue, error) {
	var list []SelectionValue
	for _, row := range s.Rows {
		if row.Condition != nil {
			holds, err := row.Condition.Eval(ctx, it, data)
			if err != nil {
				return nil, err
			}
			if !Truthy(holds) {
				continue
			}
		}
		list = append(list, row.Values...)
	}
	return list, nil
}

// Offered returns the values in the selection list of p that are valid for the
// item, or nil if p has no such list. The data that its conditions need must be
// loaded.
func (it *Item) Offered(ctx context.Context, p *Property, data FormulaData) ([]SelectionValue, error) {
	if p.Selection == nil {
		return nil, nil
	}
	return p.Selection.offeredValues(ctx, it, data)
}

func (p *Property) notOffered(v any) *Error {
	e := Errorf(Invalid, "selection", "attribute %s takes a value of its selection list, found %s", Quote(p.Name), DescribeValue(v))
	e.Attribute = p.Name
	return e
}

// has reports whether the list contains v. It is true for null.
func (s *Selection) has(v any) bool {
	_, ok := s.plainLabel(v)
	return v == nil || ok
}

// label returns the text for "<attribute>_str": the label of the value in the
// selection list, or the value as text.
func (it *Item) label(p *Property) string {
	if it.Labels != nil && p.Selection.isConditional() {
		return it.Labels[p.Index]
	}
	label, _ := p.Selection.plainLabel(it.Values[p.Index])
	return label
}

// plainLabel returns the label of a value in the rows without conditions.
func (s *Selection) plainLabel(v any) (label string, offered bool) {
	if list, ok := elements(v); ok {
		return joinLabels(list, s.plainLabel)
	}
	for _, row := range s.Rows {
		if row.Condition != nil {
			continue // it was not evaluated
		}
		if label, ok := labelIn(row.Values, v); ok {
			return label, true
		}
	}
	return ValueText(v), false
}

// labelAmong returns the label of a value in the list.
func labelAmong(list []SelectionValue, v any) (label string, offered bool) {
	if parts, ok := elements(v); ok {
		return joinLabels(parts, func(e any) (string, bool) { return labelAmong(list, e) })
	}
	if label, ok := labelIn(list, v); ok {
		return label, true
	}
	return ValueText(v), false
}

// elements returns the elements of a set, each of which has its own label.
func elements(v any) ([]any, bool) {
	text, ok := v.(JSONText)
	if !ok {
		return nil, false
	}
	list, ok := text.Decode().([]any)
	return list, ok
}

func joinLabels(list []any, label func(any) (string, bool)) (string, bool) {
	labels, all := make([]string, len(list)), true
	for i, e := range list {
		if _, nested := e.([]any); nested {
			labels[i], all = ValueText(e), false
			continue
		}
		var ok bool
		labels[i], ok = label(e)
		all = all && ok
	}
	return strings.Join(labels, ", "), all
}

func labelIn(list []SelectionValue, v any) (string, bool) {
	for i := range list {
		if looselyEqual(list[i].Key, v) {
			return list[i].Label, true
		}
	}
	return "", false
}

// looselyEqual compares a key of a selection list with a value. Text and
// numbers are equal if they have the same text, because class files write
// either.
func looselyEqual(key, v any) bool {
	if s, ok := key.(string); ok {
		if t, ok := v.(string); ok {
			return s == t
		}
	}
	switch k := key.(type) {
	case nil:
		return false
	case bool:
		if b, ok := v.(bool); ok {
			return k == b
		}
		key = json.Number("0")
		if k {
			key = json.Number("1")
		}
	}
	text := ValueText(v)
	if ValueText(key) == text {
		return true
	}
	if b, ok := v.(bool); ok {
		text = "0"
		if b {
			text = "1"
		}
	}
	a, ok := ParseDecimal(ValueText(key))
	b, also := ParseDecimal(text)
	return ok && also && a == b
}

// Truthy reports whether a condition with the value v holds. As in JavaScript,
// it does not hold for null, false, 0, NaN and "".
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil, absent:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case float64:
		return v == v && v != 0
	case Decimal:
		return v != "0"
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	}
	return true
}
