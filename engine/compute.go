package engine

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Compute sets the computed values of an item that is read: calculated attributes
// that are not cached, labels that depend on the item, and the display string if
// the class computes it. Everything that the class Needs must be loaded, and the
// loaded items must be computed already.
func (it *Item) Compute(ctx context.Context, data FormulaData) error {
	it.Label, it.Labels = "", nil
	for _, p := range it.Class.Properties {
		if p.Formula != nil && !p.Cached {
			if err := it.computeProperty(ctx, p, data); err != nil {
				return err
			}
		}
	}
	if err := it.computeLabels(ctx, data); err != nil {
		return err
	}
	if it.Class.Label == nil {
		return nil
	}
	v, err := it.Class.Label.Eval(ctx, it, data)
	if err != nil {
		return it.formulaError(nil, err)
	}
	it.Label = plainText(v)
	return nil
}

// ComputeCached sets all calculated attributes, including those that are stored
// when the item is written.
func (it *Item) ComputeCached(ctx context.Context, data FormulaData) error {
	for _, p := range it.Class.Properties {
		if p.Formula != nil {
			if err := it.computeProperty(ctx, p, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// ComputeAgain computes some of the cached attributes as a write would, for a
// reader from whom the stored values are hidden. The caller must have set these
// values to nil before. An attribute that cannot be computed is null. Attributes
// that are not cached are computed too, because others may depend on them. The
// caller must call Compute afterwards, when all values are known.
func (it *Item) ComputeAgain(ctx context.Context, cached []*Property, data FormulaData) error {
	for _, p := range it.Class.Properties {
		if p.Formula == nil || p.Cached && !slices.Contains(cached, p) {
			continue
		}
		if err := it.computeProperty(ctx, p, data); err != nil {
			if CodeOf(err) != Invalid {
				return err
			}
			it.Values[p.Index] = nil
		}
	}
	return nil
}

func (it *Item) computeProperty(ctx context.Context, p *Property, data FormulaData) error {
	if _, keep := p.Formula.(KeepValue); keep && p.Type != Collection {
		return nil
	}
	v, err := p.Formula.Eval(ctx, it, data)
	if err != nil {
		return it.formulaError(p, err)
	}
	switch {
	case p.Type == Collection:
		items, _ := v.([]*Item)
		it.setLink(p, Link{Loaded: true, Shown: true, Items: items})
		it.Values[p.Index] = nil
		return nil
	case p.Type == Reference:
		if items, ok := v.([]*Item); ok {
			v = nil
			if len(items) > 0 {
				v = items[0]
			}
		}
		if target, ok := v.(*Item); ok {
			old := it.Link(p)
			it.setLink(p, Link{Loaded: true, Shown: old.Shown, Item: target})
		}
	}
	it.Values[p.Index] = p.castComputed(v)
	return nil
}

// castComputed is Cast for the result of a formula. Numbers for an int lose their
// fraction. A value that does not fit becomes null, because a reader of the item
// could not correct it.
func (p *Property) castComputed(v any) any {
	switch target := v.(type) {
	case *Item:
		if target == nil {
			return nil
		}
		if p.Type != Reference {
			v = target.ID
		}
	case Instant:
		if p.Type.Textual() {
			v = target.String()
		}
	}
	if p.Type == Int {
		if f, ok := castReal(v); ok && f != math.Trunc(f) {
			v = math.Trunc(f)
		}
	}
	value, err := p.Cast(v)
	if err != nil {
		return nil
	}
	return value
}

// setLink sets the loaded target or members of a property.
func (it *Item) setLink(p *Property, l Link) {
	if it.Links == nil {
		it.Links = make([]Link, len(it.Class.Properties))
	}
	it.Links[p.Index] = l
}

func (it *Item) computeLabels(ctx context.Context, data FormulaData) error {
	for _, p := range it.Class.Properties {
		if p.Selection == nil || !p.Selection.isConditional() {
			continue
		}
		if it.Labels == nil {
			it.Labels = make([]string, len(it.Class.Properties))
		}
		list, err := p.Selection.offeredValues(ctx, it, data)
		if err != nil {
			return it.formulaError(p, err)
		}
		it.Labels[p.Index], _ = labelAmong(list, it.Values[p.Index])
	}
	return nil
}

// formulaError adds the item and the property to the error of a formula.
func (it *Item) formulaError(p *Property, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Class, c.ID = it.Class.FullName, it.ID
	if p != nil {
		c.Attribute = p.Name
	}
	return &c
}

// plainText returns the text of a computed display string.
func plainText(v any) string {
	switch v := v.(type) {
	case nil, absent:
		return ""
	case *Item:
		if v == nil {
			return ""
		}
		return v.String()
	case []*Item:
		return displayAll(v, nil, 0)
	case bool:
		if !v {
			return ""
		}
	case Instant:
		return displayTime(v)
	}
	return ValueText(v)
}
