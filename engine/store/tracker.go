package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/owned"
)

// newGenerate returns the generator of values that the server supplies to this write.
func (sv *save) newGenerate() engine.Generate { return sv.store.cfg.generate(sv.ctx, sv.now) }

// generate returns the generator of values for inserts, for a write at the given time.
func (c *Config) generate(ctx context.Context, now engine.Instant) engine.Generate {
	return engine.Generate{
		GUID:    c.NewID,
		Now:     func() engine.Instant { return now },
		Account: engine.AccountFrom(ctx),
	}
}

// stampedUpdate returns the values that an update sets: the given values, and the time and account of the update.
func (sv *save) stampedUpdate(p *layout.Plan, given engine.Values) engine.Values {
	if !p.Duties.HasTrackers() {
		return given
	}
	v := slices.Clone(given)
	p.Class.Stamp(v, sv.newGenerate(), false)
	return v
}

// files returns an owned.Files, which updates the records of files for this write.
func (sv *save) files() *owned.Files { return sv.store.owned.FilesOf(sv.ctx, sv.w, sv.now) }

// creatorID returns the value of the system column for the creator. It is "" if the class has an attribute for it.
func (sv *save) creatorID(p *layout.Plan) string {
	if p.Duties.Creator != nil {
		return ""
	}
	return sv.account
}

func (sv *save) editorID(p *layout.Plan) string {
	if p.Duties.Editor != nil {
		return ""
	}
	return sv.account
}
