package store

import (
	"slices"

	"restsrv/engine"
)

// stampInsert fills the trackers of a new item: times that are not given, and
// who creates it. Without an account, as in an import, what is given stays.
func (sv *save) stampInsert(p *plan, v engine.Values) {
	d := &p.duties
	for _, tracker := range []*engine.Property{d.creation, d.change} {
		if tracker != nil && v[tracker.Index] == engine.Absent {
			v[tracker.Index] = sv.time(tracker)
		}
	}
	if d.creator != nil && sv.account != "" {
		v[d.creator.Index] = sv.account
	}
	if d.editor != nil && sv.account != "" {
		v[d.editor.Index] = nil
	}
}

// stampUpdate fills the trackers of an item that changes: v is changed.
func (sv *save) stampUpdate(p *plan, v engine.Values) {
	d := &p.duties
	if d.change != nil {
		v[d.change.Index] = sv.time(d.change)
	}
	if sv.account == "" {
		return
	}
	if d.creator != nil {
		v[d.creator.Index] = engine.Absent
	}
	if d.editor != nil {
		v[d.editor.Index] = sv.account
	}
}

// stampedUpdate is what an update of given values sets, trackers included.
func (sv *save) stampedUpdate(p *plan, given engine.Values) engine.Values {
	if !p.duties.stamped() {
		return given
	}
	v := slices.Clone(given)
	sv.stampUpdate(p, v)
	return v
}

// time is the time of the write as a value of a tracker.
func (sv *save) time(tracker *engine.Property) any {
	v, err := tracker.Cast(sv.now)
	if err != nil {
		return nil // a tracker that cannot hold a time holds nothing
	}
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
