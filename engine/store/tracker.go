package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// generate is what an insert of this write completes its values with.
func (sv *save) generate() engine.Generate { return sv.store.generate(sv.ctx, sv.now) }

func (s *Store) generate(ctx context.Context, now engine.Instant) engine.Generate {
	return engine.Generate{
		GUID:    s.cfg.NewID,
		Now:     func() engine.Instant { return now },
		Account: engine.AccountFrom(ctx),
	}
}

// stampedUpdate is what an update of given values sets, trackers included.
func (sv *save) stampedUpdate(p *plan, given engine.Values) engine.Values {
	if !p.duties.stamped() {
		return given
	}
	v := slices.Clone(given)
	p.class.Stamp(v, sv.generate(), false)
	return v
}

// creator and editor are what goes into the system columns: nothing where the
// class has an attribute for it.
func (sv *save) creator(p *plan) string {
	if p.duties.creator != nil {
		return ""
	}
	return sv.account
}

func (sv *save) editor(p *plan) string {
	if p.duties.editor != nil {
		return ""
	}
	return sv.account
}
