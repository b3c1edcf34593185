package store

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/table"
)

// Create implements engine.Repository.
func (s *Store) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	it, err := s.createItem(ctx, c, v, o)
	return it, s.hideError(ctx, err)
}

func (s *Store) createItem(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	p, err := s.layout.PlanOf(c)
	if err != nil {
		return nil, err
	}
	g := s.reader.GuardOf(ctx)
	if err := g.CheckWrite(p.Class, v, engine.MayUse); err != nil {
		return nil, err
	}
	if c.Abstract {
		return nil, abstractError(c)
	}
	if isPlainInsert(p, g) {
		return s.createPlain(ctx, p, v)
	}
	sv := s.newWrite(ctx, g, 0)
	sv.grants = p.Table.Grants
	e := &entry{plan: p, version: c.Version, given: v, handling: o.Handling}
	if err := sv.nesting.unfold(e); err != nil {
		return nil, err
	}
	if err := p.CheckSizes(v); err != nil {
		return nil, err
	}
	if err := sv.hashPasswords(p, v); err != nil {
		return nil, err
	}
	if !p.Duties.Late {
		if err := sv.completeValues(p, v); err != nil {
			return nil, err
		}
		e.full = v
	}
	return sv.writeAlone(e)
}

// createPlain inserts an item for which only a row must be written.
func (s *Store) createPlain(ctx context.Context, p *layout.Plan, v engine.Values) (*engine.Item, error) {
	c := p.Class
	if err := c.Complete(v, s.cfg.generate(ctx, engine.InstantOf(s.cfg.Now()))); err != nil {
		return nil, err
	}
	if err := p.CheckSizes(v); err != nil {
		return nil, err
	}
	if err := s.cfg.hashValues(ctx, p, v); err != nil {
		return nil, err
	}
	rev := table.NewRevision()
	it := &engine.Item{Class: c, ID: c.ID(v), Revision: uint64(rev), Version: c.Version, Creator: accountID(ctx), Values: v}
	args := p.RowArgs(make([]any, 0, 5+len(v)), it)
	err := s.pool.Writer.DoStatement(ctx, p.Table, func(w *conns.Session) error {
		st, err := w.Prepare(p.SQL().Insert)
		if err != nil {
			return err
		}
		if _, err = st.ExecContext(w.Ctx, args...); err != nil {
			return s.table.WriteError(p, err, it.Get)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.enrichOne(ctx, it), nil
}

// writeAlone writes one entry in a transaction of its own.
func (sv *save) writeAlone(e *entry) (*engine.Item, error) {
	e.setPlace(0, "")
	sv.items = sv.only[:]
	work := func(w *conns.Session) (err error) {
		if err := sv.beginSave(w); err != nil {
			return err
		}
		if e.deep != nil {
			if err := sv.relations.lockLinks([]entry{*e}); err != nil {
				return err
			}
		}
		own := *e // a copy, because the write changes the entry and the work may run again
		if sv.items[0], err = sv.nesting.writeRecord(&own); err != nil {
			return err
		}
		return sv.relations.finish()
	}
	if err := sv.runLone(e, work); err != nil {
		return nil, err
	}
	return sv.store.enrichOne(sv.ctx, sv.items[0]), nil
}

// isSingle reports whether one statement can do the whole write of e.
func (sv *save) isSingle(e *entry) bool {
	d := &e.plan.Duties
	if sv.grants || !sv.guard.SkipsRowChecks(e.plan) || e.deep != nil || e.plan.Caching.Any || e.plan.Table.Filed || e.needsSharedCheck() || d.Words || d.Late || d.Restricted || d.Journaled || e.handling == engine.Strict && len(d.References) > 0 {
		return false
	}
	return e.how == insert || !sv.nesting.mustInspect(e) && !e.keyTouched()
}

// enrichOne loads the data that the response for a written item of its class needs. If loading fails, the error is
// only logged, because the write is already valid.
func (s *Store) enrichOne(ctx context.Context, it *engine.Item) *engine.Item {
	if p := s.layout.Plans[it.Class]; p.Needy || p.CachedBelow {
		s.enrichAll(ctx, []*engine.Item{it})
	}
	return it
}

func (s *Store) enrichAll(ctx context.Context, items []*engine.Item) {
	g := s.reader.GuardOf(ctx)
	if !slices.ContainsFunc(items, func(it *engine.Item) bool {
		return s.layout.Plans[it.Class].Needy || g.ComputesFor(s.layout.Plans[it.Class])
	}) {
		return
	}
	g.Withhold(items)
	if err := s.reader.EnrichItems(ctx, items, nil); err != nil {
		s.cfg.Log.Warn("an object was saved, but the data for the response could not be loaded", "class", items[0].Class.FullName, "error", err)
	}
}

// loadMembers loads the members of saved items for the response, at the end of the transaction. It loads collections
// that are stored as links, for records with Members set. An item that the account may not read gets no members. If
// there are too many members to load, all items are returned without members.
func (sv answering) loadMembers(records []engine.Record) error {
	byClass := map[*engine.Class][]*engine.Item{}
	for i, it := range sv.items {
		if records[i].Members && slices.ContainsFunc(it.Class.Properties, (*engine.Property).Linked) {
			byClass[it.Class] = append(byClass[it.Class], it)
		}
	}
	if len(byClass) == 0 {
		return nil
	}
	loadable := sv.store.cfg.MaxLoaded
	sv.w.Guard, sv.w.Loadable = sv.guard, &loadable
	defer func() { sv.w.Guard, sv.w.Loadable = nil, nil }()
	for c, items := range byClass {
		err := sv.loadMembersOf(c, items)
		if engine.CodeOf(err) == engine.Invalid {
			for _, it := range sv.items {
				it.Links = nil
			}
			sv.store.cfg.Log.Warn("objects were saved, but the response does not contain their members", "class", c.FullName, "error", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxMemberChecks is the number of attempts of a save after which checkMembers and checkReplaced accept any result.
const maxMemberChecks = 3

// checkMembers returns errRelinked, which repeats the save, if a collection that the save has replaced contains an
// item that the save does not name. This can happen if the save creates the owner: the save cannot lock an owner that
// does not exist yet, so a concurrent transaction may link the item to it. The response must not contain such a link.
// If the link was added before the replacement, the save must remove it; if it was added afterwards, it does not
// belong to the response.
func (sv answering) checkMembers(entries []entry) error {
	if sv.store.traits.LockKey == "" || sv.attempts > maxMemberChecks {
		return nil
	}
	var named map[string]bool
	for i, it := range sv.items {
		if entries[i].deep == nil {
			continue
		}
		for _, m := range entries[i].deep.members {
			members := it.Link(m.property).Items
			if !m.replace || m.property.Mirror == nil || len(members) == 0 {
				continue
			}
			if named == nil {
				named = sv.namedItems(entries)
			}
			if slices.ContainsFunc(members, func(member *engine.Item) bool { return !named[member.ID] }) {
				return conns.MarkAgain(errRelinked)
			}
		}
	}
	return nil
}

// namedItems returns the ids that the entries name: the ids of the written items and of the members of their
// collections. The id of a member that was given as a nested record may be unknown. For this case, the result includes
// all loaded members of the collection.
func (sv answering) namedItems(entries []entry) map[string]bool {
	named := map[string]bool{}
	for i, it := range sv.items {
		named[it.ID] = true
		if entries[i].deep == nil {
			continue
		}
		for _, m := range entries[i].deep.members {
			for _, member := range m.add {
				if id, ok := member.(string); ok {
					named[id] = true
					continue
				}
				for _, nested := range it.Link(m.property).Items {
					named[nested.ID] = true
				}
			}
		}
	}
	return named
}

func (sv answering) loadMembersOf(c *engine.Class, items []*engine.Item) error {
	may, err := sv.permits.readableIDs(items...)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(it *engine.Item) bool { return !may[it.ID] })
	for _, p := range c.Properties {
		if !p.Linked() || sv.guard.Hides(engine.MayRead, p) {
			continue
		}
		for chunk := range slices.Chunk(items, table.BulkRows) {
			if _, err := sv.store.reader.LoadOne(sv.w.Ctx, sv.w, chunk, &engine.Load{Property: p}); err != nil {
				return err
			}
		}
	}
	return nil
}

// hashValues replaces the plain passwords in v by their hashes.
func (c *Config) hashValues(ctx context.Context, p *layout.Plan, v engine.Values) error {
	for _, property := range p.Passwords {
		plain, ok := v[property.Index].(string)
		if !ok {
			continue
		}
		if c.HashPassword == nil {
			return engine.Errorf(engine.Internal, "internal", "passwords cannot be stored here")
		}
		hashed, err := c.HashPassword(ctx, plain)
		if err != nil {
			var e *engine.Error
			if errors.As(err, &e) && e.Code == engine.Invalid {
				named := *e
				named.Class, named.Attribute = p.Class.FullName, property.Name
				return &named
			}
			return err
		}
		v[property.Index] = hashed
	}
	return nil
}

// Update implements engine.Repository.
func (s *Store) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	it, err := s.updateItem(ctx, &updating{c, id, v, o})
	return it, s.hideError(ctx, err)
}

// updating contains the arguments of Update.
type updating struct {
	class   *engine.Class
	id      string
	values  engine.Values
	options engine.WriteOptions
}

func (s *Store) updateItem(ctx context.Context, u *updating) (*engine.Item, error) {
	p, err := s.layout.PlanOf(u.class)
	if err != nil {
		return nil, err
	}
	c, id, v, o := p.Class, u.id, u.values, u.options
	g := s.reader.GuardOf(ctx)
	if err := g.CheckWrite(c, v, engine.MayWrite); err != nil {
		return nil, err
	}
	key, ok := c.KeyValues(id)
	if !ok {
		return nil, g.NoItem(c, id)
	}
	sv := s.newWrite(ctx, g, 0)
	sv.match, sv.grants = o.Match, p.Table.Grants
	e := &entry{plan: p, given: v, key: key, how: modify, handling: o.Handling}
	if err := sv.nesting.unfold(e); err != nil {
		return nil, err
	}
	if err := c.Check(v); err != nil {
		return nil, err
	}
	if err := p.CheckSizes(v); err != nil {
		return nil, err
	}
	if e.deep == nil && !hasValues(v) {
		return s.answerUntouched(ctx, p, id, o.Match)
	}
	if err := s.cfg.hashValues(ctx, p, v); err != nil {
		return nil, err
	}
	it, err := sv.writeAlone(e)
	return it, table.HideMissing(g, c, err)
}

func hasValues(v engine.Values) bool {
	for _, value := range v {
		if value != engine.Absent {
			return true
		}
	}
	return false
}

// answerUntouched returns the result of an update that sets no value, which is the stored item.
func (s *Store) answerUntouched(ctx context.Context, p *layout.Plan, id string, m *engine.Match) (*engine.Item, error) {
	it, err := s.reader.GetFor(ctx, p, id, read.Getting{May: engine.MayWrite})
	if err != nil {
		return nil, err
	}
	if !m.Allows(it.Revision) {
		return nil, table.UnmatchedError(p.Class, id)
	}
	return it, nil
}

func setsReadonly(p *layout.Plan, v engine.Values) bool {
	for i, property := range p.Class.Properties {
		if property.Readonly && v[i] != engine.Absent {
			return true
		}
	}
	return false
}

// needsSharedCheck reports whether the sizes of shared index entries must be checked after an update.
func (e *entry) needsSharedCheck() bool {
	return e.how != insert && e.plan.Table.Shares && (e.plan.Duties.HasTrackers() || e.plan.SetsShared(e.given))
}
