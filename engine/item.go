package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
)

// Item is one stored instance of a class.
type Item struct {
	Class    *Class
	ID       string
	Revision uint64 // changes with every write; never reused for different content
	Version  string // version of the class when the item was written, "_classVer" of the acceptor
	Creator  string // account id; "" if unknown
	Editor   string
	Values   Values
	Links    []Link    // by Property.Index; nil if no links were loaded
	Label    string    // computed display string; "" if there is none; see Compute
	Labels   []string  // by Property.Index: computed labels of values; nil if there are none
	Position *Position // position in the list, if the query wants it
}

// Link holds the loaded target of a reference or the loaded members of a collection.
type Link struct {
	Loaded bool
	Shown  bool    // part of the answer; otherwise loaded only for computations
	Item   *Item   // target of a reference; nil if no item has its id
	Items  []*Item // members of a collection
}

// Display returns the value of a property as people read it. For a reference it is
// the display string of the target if that is loaded, else the id.
func (it *Item) Display(p *Property) string { return displayProperty(it, p, 0) }

// Link returns the loaded target or members of a property, or the zero Link.
func (it *Item) Link(p *Property) Link {
	if p.Index >= len(it.Links) || it.Class.Hides(p) {
		return Link{}
	}
	return it.Links[p.Index]
}

// Clone returns a copy that stays valid after the visit function returns.
func (it *Item) Clone() *Item {
	c := *it
	c.Values = append(Values(nil), it.Values...)
	if it.Position != nil {
		at := it.Position.Clone()
		c.Position = &at
	}
	return &c
}

// Get returns the value of a property, or nil if it is null or unknown.
func (it *Item) Get(name string) any {
	p := it.Class.Property(name)
	if p == nil || p.Type == Password {
		return nil
	}
	return it.Values[p.Index]
}

// String returns the display string, "__string" on the wire.
func (it *Item) String() string { return it.display(nil, 0) }

// display returns the display string according to s, or to the item's class if
// s is nil. depth is the number of display strings that contain this one.
func (it *Item) display(s *Semantic, depth int) string {
	if s == nil {
		if it.Label != "" {
			return it.Label
		}
		s = it.Class.semantic
	}
	if depth > maxDisplayDepth {
		return it.ID
	}
	if text := s.eval(it, depth); text != "" {
		return text
	}
	return it.ID
}

// ETag returns the strong entity tag of the item's plain JSON, without loaded
// links and projection (RFC 9110 section 8.8.3). It consists of the revision
// and the fingerprint of the class, or of the view of it.
func (it *Item) ETag() string {
	return `"` + strconv.FormatUint(it.Revision, 36) + "." + it.Class.Fingerprint() + `"`
}

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

// ComputeAgain computes the given cached attributes from the data that the account may read. It is used if the
// account may not see the stored values, because they were computed from other data. The caller must have set these
// values to nil. An attribute that cannot be computed stays null. Attributes that are not cached are computed too,
// because others may depend on them. The caller must call Compute afterwards, when all values are known.
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

// castComputed casts the result of a formula to a value of the property. Numbers for
// an int lose their fraction. A value that does not fit becomes null, because a reader
// of the item could not correct it.
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
