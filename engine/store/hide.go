package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"restsrv/engine"
)

// noItem returns the error for a named item that was not found. If the account may not read all items of the class, it
// is Denied, so that it does not reveal whether the item exists.
func (g *guard) noItem(c *engine.Class, id string) error {
	if g.rowFilter(engine.MayRead, c) != nil {
		return engine.Denied()
	}
	return engine.NoItem(c, id)
}

// hideMissing replaces the error of engine.NoItem by that of noItem.
func (g *guard) hideMissing(c *engine.Class, err error) error {
	if g != nil && engine.CodeOf(err) == engine.NotFound && err != nil && g.rowFilter(engine.MayRead, c) != nil {
		return keepMark(err, engine.Denied())
	}
	return err
}

// unknownReason is the reason of unknownAttribute.
const unknownReason = "unknown-attribute"

// unknownAttribute returns the error for a name that a class does not have. It is also used for an attribute that is
// hidden from the account.
func unknownAttribute(c *engine.Class, p *engine.Property) *engine.Error {
	name, _, _ := strings.Cut(p.Name, "$") // an attribute of a structure is named by a path
	e := engine.Errorf(engine.Invalid, unknownReason, "class %s has no attribute %s", c.FullName, engine.Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// ownError replaces an error about a calculated attribute of an item that the account has not written, if the account
// may not read all items of the class. The error would reveal data of the item.
func (sv *save) ownError(err error) error {
	var e *engine.Error
	if sv.guard == nil || !errors.As(err, &e) || e.Code != engine.Invalid {
		return err
	}
	for c := range sv.store.plans {
		if c.FullName != e.Class || sv.guard.rowFilter(engine.MayRead, c) == nil {
			continue
		}
		own := slices.ContainsFunc(sv.written, func(it *engine.Item) bool { return it.Class == c && it.ID == e.ID })
		if !own {
			hidden := engine.Errorf(engine.Invalid, e.Reason, "a calculated attribute of another object cannot follow this change")
			hidden.Err = err
			return hidden
		}
	}
	return err
}

// checkDoubt checks, before defaults are computed, whether an entry refers to items that the account may not refer to
// or that do not exist yet (see hideDoubtful). This alone is not an error, since a later record may create the item.
func (sv *save) checkDoubt(e *entry, v engine.Values, before *engine.Item) error {
	e.doubtful = false
	if sv.guard == nil || !e.plan.duties.late || before != nil && e.plan.holdsClass(before.Class) {
		return nil
	}
	for _, p := range sv.guard.restrictedReferences(e.plan) {
		value, target := v[p.Index], sv.store.plans[p.Target]
		if value == nil || value == engine.Absent || target == nil {
			continue
		}
		found, err := sv.store.findAdmitted(sv.w, sv.guard, wish{plan: target, of: []engine.Permission{engine.MayRead, engine.MayUse}}, []any{value})
		if err != nil {
			return err
		}
		e.doubtful = e.doubtful || len(found) == 0
	}
	return nil
}

// hideDoubtful replaces an Invalid error of a doubtful entry by Denied, because the error may depend on values of the
// item that the entry refers to.
func (e *entry) hideDoubtful(err error) error {
	if e.doubtful && err != nil && engine.CodeOf(err) == engine.Invalid {
		return engine.Denied()
	}
	return err
}

// hideError replaces an error by Denied if it names an attribute that is hidden from the account.
func (s *Store) hideError(ctx context.Context, err error) error {
	var e *engine.Error
	if err == nil || !errors.As(err, &e) || e.Code != engine.Invalid || e.Reason == unknownReason {
		return err
	}
	g := s.guardOf(ctx)
	if g == nil {
		return err
	}
	for c, p := range s.plans {
		if c.FullName != e.Class {
			continue
		}
		index, _ := s.db.Dialect.Duplicate(e.Err, p.table.unique)
		named := e.Attribute[strings.LastIndexByte(e.Attribute, '.')+1:]
		for _, hidden := range slices.Concat(g.hiddenProperties(c), g.withheldIn(c)) {
			if col := p.table.column(hidden); hidden.Name == named || col != nil && slices.Contains(index.Columns, col.name) {
				return engine.Denied()
			}
		}
	}
	return err
}
