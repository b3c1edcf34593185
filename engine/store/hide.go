package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/table"
)

// ownError returns err, the error of a calculated attribute, without details if they may be hidden from the account:
// if the save has not written the item of the error, and there are items of its class that the account may not read.
// Such details can contain values of the item.
func (sv *permits) ownError(err error) error {
	var e *engine.Error
	if sv.guard == nil || !errors.As(err, &e) || e.Code != engine.Invalid {
		return err
	}
	for c := range sv.store.layout.Plans {
		if c.FullName != e.Class || sv.guard.RowFilter(engine.MayRead, c) == nil {
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

// checkDoubt sets e.doubtful. An entry is doubtful if it refers to an item that does not exist or that the account may
// not refer to. checkDoubt does not return an error for it, because a later record may create the item. It must be
// called before defaults are computed from the item (see hideDoubtful).
func (sv *permits) checkDoubt(e *entry, v engine.Values, before *engine.Item) error {
	e.doubtful = false
	if sv.guard == nil || !e.plan.Duties.Late || before != nil && e.plan.HoldsClass(before.Class) {
		return nil
	}
	for _, p := range sv.guard.RestrictedReferences(e.plan) {
		value, target := v[p.Index], sv.store.layout.Plans[p.Target]
		if value == nil || value == engine.Absent || target == nil {
			continue
		}
		found, err := sv.store.table.FindAdmitted(sv.w, sv.guard, table.Wish{Plan: target, Of: []engine.Permission{engine.MayRead, engine.MayUse}}, []any{value})
		if err != nil {
			return err
		}
		e.doubtful = e.doubtful || len(found) == 0
	}
	return nil
}

// hideDoubtful replaces an Invalid error of a doubtful entry by Denied. The Invalid error may depend on values of the
// item that the entry refers to, and would disclose them.
func (e *entry) hideDoubtful(err error) error {
	if e.doubtful && err != nil && engine.CodeOf(err) == engine.Invalid {
		return engine.Denied()
	}
	return err
}

// hideError replaces an error by Denied if it concerns an attribute that is hidden from the account.
func (s *Store) hideError(ctx context.Context, err error) error {
	var e *engine.Error
	if err == nil || !errors.As(err, &e) || e.Code != engine.Invalid || e.Reason == rights.UnknownReason {
		return err
	}
	g := s.reader.GuardOf(ctx)
	if g == nil {
		return err
	}
	for c, p := range s.layout.Plans {
		if c.FullName != e.Class {
			continue
		}
		index, _ := s.db.Dialect.Duplicate(e.Err, p.Table.Unique)
		named := e.Attribute[strings.LastIndexByte(e.Attribute, '.')+1:]
		for _, hidden := range slices.Concat(g.HiddenProperties(c), g.WithheldIn(c)) {
			if col := p.Table.Column(hidden); hidden.Name == named || col != nil && slices.Contains(index.Columns, col.Name) {
				return engine.Denied()
			}
		}
	}
	return err
}
