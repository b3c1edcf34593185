package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"restsrv/engine"
)

// noItem is the error for an item that was named and not found. Who may not
// read all items of the class is not told whether it is there.
func (g *guard) noItem(c *engine.Class, id string) error {
	if g.rows(engine.MayRead, c) != nil {
		return engine.Denied()
	}
	return engine.NoItem(c, id)
}

// veiled makes noItem's error of engine.NoItem's.
func (g *guard) veiled(c *engine.Class, err error) error {
	if g != nil && engine.CodeOf(err) == engine.NotFound && err != nil && g.rows(engine.MayRead, c) != nil {
		return likewise(err, engine.Denied())
	}
	return err
}

// unknownReason is the reason of unknownAttribute.
const unknownReason = "unknown-attribute"

// unknownAttribute is the error for a name that a class does not have: also for
// one that the account may not know.
func unknownAttribute(c *engine.Class, p *engine.Property) *engine.Error {
	name, _, _ := strings.Cut(p.Name, "$") // an attribute of a struct is named by a path
	e := engine.Errorf(engine.Invalid, unknownReason, "class %s has no attribute %s", c.FullName, engine.Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// ownError keeps an error about a calculated attribute from telling of an item
// that was not written by the account, where it may not read all of the class.
func (sv *save) ownError(err error) error {
	var e *engine.Error
	if sv.guard == nil || !errors.As(err, &e) || e.Code != engine.Invalid {
		return err
	}
	for c := range sv.store.plans {
		if c.FullName != e.Class || sv.guard.rows(engine.MayRead, c) == nil {
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

// doubt finds out, before defaults are computed of it, whether an entry points at
// what the account may not, or what is not there yet: see silenced. That is no
// error as long as nothing else is, since a later record may bring it.
func (sv *save) doubt(e *entry, v engine.Values, before *engine.Item) error {
	e.doubtful = false
	if sv.guard == nil || !e.plan.duties.late || before != nil && e.plan.holds(before.Class) {
		return nil
	}
	for _, p := range sv.guard.pointing(e.plan) {
		value, target := v[p.Index], sv.store.plans[p.Target]
		if value == nil || value == engine.Absent || target == nil {
			continue
		}
		found, err := sv.store.admitted(sv.w, sv.guard, wish{plan: target, of: []engine.Permission{engine.MayRead, engine.MayUse}}, []any{value})
		if err != nil {
			return err
		}
		e.doubtful = e.doubtful || len(found) == 0
	}
	return nil
}

// silenced keeps what is computed of what a doubtful entry points at from telling
// of that by what is wrong with it.
func (e *entry) silenced(err error) error {
	if e.doubtful && err != nil && engine.CodeOf(err) == engine.Invalid {
		return engine.Denied()
	}
	return err
}

// masked keeps an error from naming what the account may not read.
func (s *Store) masked(ctx context.Context, err error) error {
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
		for _, hidden := range slices.Concat(g.unread(c), g.withheldIn(c)) {
			if col := p.table.column(hidden); hidden.Name == named || col != nil && slices.Contains(index.Columns, col.name) {
				return engine.Denied()
			}
		}
	}
	return err
}
