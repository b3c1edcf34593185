package acl_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// TestChangesOfAnotherProcessCount checks that a change takes effect at once in the process that
// made it, and within half a second in another process on the same database.
func TestChangesOfAnotherProcessCount(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		server, command := place.process(), place.process()
		if server.on(note, "clerk") != "" || server.grants().Known(note) {
			t.Fatal("granted in a new database")
		}
		command.grant("clerk", note, engine.MayRead)
		if command.on(note, "clerk") != "read" {
			t.Error("who grants does not know it")
		}
		server.clock.Advance(400 * time.Millisecond)
		before := server.grants()
		if server.on(note, "clerk") != "read" || !before.Known(note) {
			t.Error("the other process does not know of the grant")
		}
		command.deny("clerk", note, engine.MayAll)
		wantOK(t, "declare", command.DeclareResource(t.Context(), phone, ""))
		server.clock.Advance(400 * time.Millisecond)
		if after := server.grants(); after.On(note, "clerk") != 0 || !after.Known(phone) || after.Revision == before.Revision {
			t.Error("the other process does not know of the denial")
		}
		if before.On(note, "clerk") != engine.MayRead {
			t.Error("grants that were given out have changed")
		}
	})
}

// TestGrantsAreLookedAtRarely checks the number of reads: no read for 400 ms, then one read of
// the revision, and a read of all grants only after a change.
func TestGrantsAreLookedAtRarely(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		p.grant("clerk", note, engine.MayRead)
		cost := func(what string, want int64) *engine.Grants {
			before := p.data.reads.Load()
			g := p.grants()
			if n := p.data.reads.Load() - before; n != want {
				t.Errorf("%s: %d reads, want %d", what, n, want)
			}
			return g
		}
		first := cost("after a change", 4)
		p.clock.Advance(399 * time.Millisecond)
		cost("again", 0)
		p.clock.Advance(time.Millisecond)
		if g := cost("after 400 ms", 1); g != first {
			t.Error("nothing has changed, and the grants are others")
		}
		cost("and again", 0)
		wantOK(t, "touch", p.Touch(t.Context()))
		if g := cost("after a touch", 4); g == first || g.Revision == first.Revision {
			t.Error("touched, and the grants are the same")
		}
	})
}

// TestOneLookForAll checks three things: concurrent requests share a look, the look continues
// when one of the requests ends, and a request never gets grants that are older than a change
// before it.
func TestOneLookForAll(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		gate := make(chan struct{})
		p.data.set(gate, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := p.Grants(ctx)
			ended <- err
		}()
		for p.data.reads.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := p.Grants(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		cancel()
		if err := <-ended; engine.CodeOf(err) != engine.Timeout || !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended: %v", err)
		}
		p.grant("clerk", note, engine.MayRead) // the running look does not include it
		late := make(chan string)
		go func() { late <- p.on(note, "clerk") }()
		for p.data.reads.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		p.data.set(nil, nil)
		close(gate)
		if got := <-late; got != "read" {
			t.Errorf("who asked after the change got %q", got)
		}
		wg.Wait()
		if p.on(note, "clerk") != "read" {
			t.Error("an older look has replaced a newer one")
		}
		if n := p.data.reads.Load(); n > 9 {
			t.Errorf("%d reads for two looks", n)
		}
	})
}

// TestGrantsFailClosed checks that old grants are not used while the database is
// not available, and that the next caller gets grants when it is available again.
func TestGrantsFailClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		p.grant("clerk", note, engine.MayRead)
		if p.on(note, "clerk") != "read" {
			t.Fatal("no grant")
		}
		p.data.set(nil, engine.Errorf(engine.Unavailable, "database", "away"))
		if p.on(note, "clerk") != "read" {
			t.Error("looked at too early")
		}
		p.clock.Advance(time.Second)
		_, err := p.Grants(t.Context())
		wantCode(t, "away", err, engine.Unavailable)
		p.data.set(nil, nil)
		if p.on(note, "clerk") != "read" {
			t.Error("no grant when the database is back")
		}
	})
}

// TestGrantsForAnAccount checks that a caller with an account and a guard in its
// context can read the grants: the Store reads them with the rights of the server.
func TestGrantsForAnAccount(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		ctx := engine.WithGuard(engine.WithAccount(t.Context(), engine.Anonymous), nothing{})
		wantOK(t, "grant", p.Grant(ctx, engine.Grant{Subject: "clerk", Resource: note, Permission: engine.MayRead}))
		if g, err := p.Grants(ctx); err != nil || g.On(note, "clerk") != engine.MayRead {
			t.Errorf("%v, %v", g, err)
		}
	})
}

// nothing is an engine.Guard that allows no access.
type nothing struct{}

func (nothing) Rows(engine.Permission, *engine.Class) *engine.Filter { return engine.Never() }

func (nothing) Creates(*engine.Class) bool { return false }

func (nothing) Hides(engine.Permission, *engine.Property) bool { return true }

// TestGrantsEndWithTheirItem checks that grants on an item have no effect after the item was
// deleted: at once in the process that deleted it, and within half a second in others.
func TestGrantsEndWithTheirItem(t *testing.T) {
	const first, second = "i:::memo@test@1", "i:::memo@test@2"
	onBoth(t, func(t *testing.T, place place) {
		memo := storetest.NewClass("memo", storetest.Prop("id", engine.String))
		server, other := place.serving(memo), place.process()
		for _, id := range []string{"1", "2"} {
			if _, err := server.items.Create(t.Context(), memo, engine.Values{id}, engine.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			server.grant("clerk", "i:::memo@test@"+id, engine.MayRead)
		}
		want := func(what string, p *process, one, two string) {
			t.Helper()
			if got := [2]string{p.on(first, "clerk"), p.on(second, "clerk")}; got != [2]string{one, two} {
				t.Errorf("%s: grants: got %q, want %q", what, got, [2]string{one, two})
			}
		}
		want("before", server.process, "read", "read")
		want("before, in the other process", other, "read", "read")
		wantOK(t, "delete", server.items.Delete(t.Context(), memo, "1", nil))
		want("deleted", server.process, "", "read")
		if _, err := server.items.DeleteAll(t.Context(), &engine.Query{Class: memo, Count: -1}); err != nil {
			t.Fatal(err)
		}
		want("all deleted", server.process, "", "")
		other.clock.Advance(400 * time.Millisecond)
		want("all deleted, in the other process", other, "", "")
	})
}
