package store_test

import (
	"context"
	"errors"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// linkRace is a store with three classes. Notes have a collection of tags without a mirror. Tags and groups have
// collections that mirror each other.
type linkRace struct {
	*testing.T
	store           *store.Store
	tag, note, folk *engine.Class
	waiting         func() bool // reports whether a write waits for another one
}

func newLinkRace(t *testing.T, p place) *linkRace {
	r := &linkRace{T: t}
	r.tag = storetest.NewClass("tag", storetest.Prop("id", engine.String))
	r.note = storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.LinkCollection("tags", r.tag))
	r.folk = storetest.NewClass("folk", storetest.Prop("id", engine.String), storetest.LinkCollection("tags", r.tag))
	storetest.AddProperties(r.tag, storetest.LinkCollection("folks", r.folk))
	tags, folks := r.folk.Property("tags"), r.tag.Property("folks")
	tags.Mirror, folks.Mirror = folks, tags
	storetest.Link(r.tag, r.note, r.folk)
	st, other := openBesideWith(t, p, store.Config{Classes: []*engine.Class{r.tag, r.note, r.folk}})
	r.store, r.waiting = st, func() bool { return isLockAwaited(t, p, other) }
	return r
}

func (r *linkRace) create(ctx context.Context, c *engine.Class, id string) error {
	v := engine.NewValues(c)
	v[0] = id
	_, err := r.store.Create(ctx, c, v, engine.WriteOptions{})
	return err
}

// link creates an item of class c that is linked to the tag "x", in a transaction, and calls work at the same time. It
// returns the number of members in the response to the creation.
func (r *linkRace) link(c *engine.Class, work func() error) (members int) {
	r.Helper()
	done := make(chan error, 1)
	err := r.store.Transaction(r.Context(), func(ctx context.Context) error {
		v := engine.NewValues(c)
		v[0], v[1] = "n", storetest.AddLinks("x")
		items, err := r.store.Save(ctx, []engine.Record{{Class: c, Values: v, Members: true}})
		if err != nil {
			return err
		}
		members = len(items[0].Link(c.Property("tags")).Items)
		go func() { done <- work() }()
		await(r.T, "the other request waits or has ended", func() bool { return r.waiting() || len(done) > 0 })
		if len(done) > 0 {
			r.Errorf("%s: the other request took effect before the transaction ended", c.Name)
		}
		return nil
	})
	if err := errors.Join(err, <-done); err != nil {
		r.Fatal(err)
	}
	return members
}

// TestLinkToCreated links a missing item while a concurrent request creates this item. The response to the link does
// not contain the item, so the creation must wait until the link is committed. The new item is then a member.
func TestLinkToCreated(t *testing.T) { onBoth(t, linkToCreated) }

func linkToCreated(t *testing.T, p place) {
	r := newLinkRace(t, p)
	for _, c := range []*engine.Class{r.note, r.folk} {
		members := r.link(c, func() error { return r.create(t.Context(), r.tag, "x") })
		if got := storetest.ListMembers(t, r.store, c, "n", "tags"); members != 0 || len(got) != 1 {
			t.Errorf("%s: got %d members in the response and %v afterwards, want none and the created one", c.Name, members, got)
		}
		if err := r.store.Delete(t.Context(), r.tag, "x", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLinkToDeleted links an item while a concurrent request deletes this item. The response to the link contains the
// item, so the deletion must wait until the link is committed, and must also delete the link. If another item with the
// same id is created later, it must not be a member.
func TestLinkToDeleted(t *testing.T) { onBoth(t, linkToDeleted) }

func linkToDeleted(t *testing.T, p place) {
	r := newLinkRace(t, p)
	for _, c := range []*engine.Class{r.note, r.folk} {
		if err := r.create(t.Context(), r.tag, "x"); err != nil {
			t.Fatal(err)
		}
		members := r.link(c, func() error { return r.store.Delete(t.Context(), r.tag, "x", nil) })
		if err := r.create(t.Context(), r.tag, "x"); err != nil {
			t.Fatal(err)
		}
		if got := storetest.ListMembers(t, r.store, c, "n", "tags"); members != 1 || len(got) != 0 {
			t.Errorf("%s: got %d members in the response and %v of a new item with the same id, want one and none", c.Name, members, got)
		}
		if err := r.store.Delete(t.Context(), r.tag, "x", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// errUndone rolls back a transaction.
var errUndone = errors.New("undone")

// TestReplacedCollection replaces two collections of an item by empty ones. Before the second, the save waits for a
// concurrent transaction, which is rolled back later. While it waits, another request adds a member to the first
// collection and is answered. The save is answered later, so it must remove this member.
func TestReplacedCollection(t *testing.T) { onBoth(t, replacedCollection) }

func replacedCollection(t *testing.T, p place) {
	region := storetest.NewClass("region", storetest.Prop("id", engine.String))
	town := storetest.NewClass("town", storetest.Prop("id", engine.String), storetest.Ref("region", region))
	folk := storetest.NewClass("folk", storetest.Prop("id", engine.String), storetest.LinkCollection("likes", region))
	storetest.AddProperties(region, storetest.BackProperty(engine.Collection, "towns", town, "region"), storetest.LinkCollection("fans", folk))
	likes, fans := folk.Property("likes"), region.Property("fans")
	likes.Mirror, fans.Mirror = fans, likes
	storetest.Link(region, town, folk)
	cfg := store.Config{Classes: []*engine.Class{region, town, folk}}
	st, other := openBesideWith(t, p, cfg)
	ctx := t.Context()
	create := func(st *store.Store, c *engine.Class, values ...any) {
		t.Helper()
		if _, err := st.Create(ctx, c, values, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(st, region, "a", engine.Absent, engine.Absent)
	create(st, town, "t", "a")
	create(st, folk, "p", storetest.AddLinks("a"))
	done := make(chan error, 1)
	err := st.Transaction(ctx, func(inner context.Context) error {
		if err := st.Delete(inner, folk, "p", nil); err != nil {
			return err
		}
		go func() {
			_, err := st.Update(ctx, region, "a", engine.Values{engine.Absent, storetest.ReplaceLinks(), storetest.ReplaceLinks()}, engine.WriteOptions{})
			done <- err
		}()
		waitForLock(t, p, other)
		if p.lock != "BEGIN IMMEDIATE" {
			create(openLimited(t, p, cfg), town, "v", "a")
		}
		return errUndone
	})
	if replaced := <-done; !errors.Is(err, errUndone) || replaced != nil {
		t.Fatal(err, replaced)
	}
	if got := storetest.ListMembers(t, st, region, "a", "towns"); len(got) > 0 {
		t.Errorf("got the towns %v, want none", got)
	}
}
