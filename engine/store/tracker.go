package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// newGenerate returns the generated values for inserts of this write.
func (sv *save) newGenerate() engine.Generate { return sv.store.newGenerate(sv.ctx, sv.now) }

func (s *Store) newGenerate(ctx context.Context, now engine.Instant) engine.Generate {
	return engine.Generate{
		GUID:    s.cfg.NewID,
		Now:     func() engine.Instant { return now },
		Account: engine.AccountFrom(ctx),
	}
}

// stampedUpdate returns the values that an update sets: the given values and the trackers.
func (sv *save) stampedUpdate(p *plan, given engine.Values) engine.Values {
	if !p.duties.hasTrackers() {
		return given
	}
	v := slices.Clone(given)
	p.class.Stamp(v, sv.newGenerate(), false)
	return v
}

// creatorID returns the value of the system column for the creator. It is "" if the class has an attribute for the
// creator.
func (sv *save) creatorID(p *plan) string {
	if p.duties.creator != nil {
		return ""
	}
	return sv.account
}

func (sv *save) editorID(p *plan) string {
	if p.duties.editor != nil {
		return ""
	}
	return sv.account
}
