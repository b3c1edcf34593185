package acl_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/acl"
	"restsrv/engine/store/dbtest"
)

// TestNameBounds checks the longest names of resources, roles, subjects and
// captions, and names one character longer.
func TestNameBounds(t *testing.T) {
	resource := func(bytes int) error {
		_, err := acl.CheckResource("n:::" + strings.Repeat("x", bytes-len("n:::")))
		return err
	}
	p := place{t, dbtest.New(t)}.process()
	declare := func(runes int) error { return p.DeclareResource(t.Context(), note, strings.Repeat("é", runes)) }
	grant := func(runes int) error {
		return p.Grant(t.Context(), engine.Grant{Subject: strings.Repeat("é", runes), Resource: note, Permission: engine.MayRead})
	}
	for _, x := range []struct {
		name  string
		check func(length int) error
		most  int
	}{
		{"a resource", resource, 600},
		{"a role", func(n int) error { return acl.CheckRole(strings.Repeat("é", n)) }, 255},
		{"a subject", grant, 255},
		{"a caption", declare, 255},
	} {
		wantOK(t, x.name+" of the greatest length", x.check(x.most))
		wantCode(t, x.name+" one longer", x.check(x.most+1), engine.Invalid)
	}
	file, _ := read(t, `{"roles": [{"id": "clerk", "name": "`+strings.Repeat("x", 300)+`"}]}`)
	done, err := p.Import(t.Context(), file)
	if err != nil || done.Roles != 1 || len(done.Refused) != 0 {
		t.Errorf("a file with a role whose caption is too long: got %+v, %v, want it cut", done, err)
	}
}

// restless is a repository in which another process seems to change the policy at each read, and
// in which deletes fail.
type restless struct {
	engine.Repository
	changes int // how many more reads change the policy
	change  func()
	reads   int
	failure error // the error of deletes
}

func (r *restless) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	it, err := r.Repository.Get(ctx, c, id, load...)
	if r.reads++; r.changes > 0 {
		r.changes--
		r.change()
	}
	return it, err
}

func (r *restless) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	return engine.InTransaction(ctx, r.Repository, work)
}

func (r *restless) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	if r.failure != nil {
		return r.failure
	}
	return r.Repository.Delete(ctx, c, id, m)
}

// TestGrantsThatChangeWhileTheyAreRead checks that grants which another process
// changes meanwhile are read again, and at most three times.
func TestGrantsThatChangeWhileTheyAreRead(t *testing.T) {
	for _, x := range []struct {
		name           string
		changes, reads int
	}{
		{"no change", 0, 2},
		{"one change", 1, 3},
		{"two changes", 2, 4},
		{"a change with every reading", 100, 4},
	} {
		place := place{t, dbtest.New(t)}
		other := place.process()
		other.grant("clerk", note, engine.MayRead)
		classes := acl.Classes()
		data := &restless{Repository: place.db.Open(t, classes...), changes: x.changes}
		n := 0
		data.change = func() {
			n++
			other.grant("clerk", note+strings.Repeat("x", n), engine.MayRead)
		}
		s, err := acl.New(acl.Config{Data: data, Classes: classes})
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Grants(t.Context())
		if err != nil || g.On(note, "clerk") != engine.MayRead || data.reads != x.reads {
			t.Errorf("%s: the policy was read %d times (%v), want %d", x.name, data.reads, err, x.reads)
		}
		if last := note + strings.Repeat("x", x.changes); x.changes < 3 && g.On(last, "clerk") != engine.MayRead {
			t.Errorf("%s: the grants lack the last change", x.name)
		}
	}
}

// TestLeftoverPermissions checks that a denied permission counts no more when its
// row cannot be deleted, and that this is logged unless another process was faster.
func TestLeftoverPermissions(t *testing.T) {
	for _, x := range []struct {
		name    string
		failure error
		warns   bool
	}{
		{"no failure", nil, false},
		{"the row is gone", engine.NoItem(acl.Classes()[0], "x"), false},
		{"the row has changed", engine.Errorf(engine.Unmatched, "revision", "changed"), false},
		{"the database is busy", engine.Errorf(engine.Unavailable, "busy", "busy"), true},
	} {
		for _, logged := range []bool{true, false} {
			var log bytes.Buffer
			classes := acl.Classes()
			c := acl.Config{Data: &restless{Repository: dbtest.New(t).Open(t, classes...), failure: x.failure}, Classes: classes}
			if logged {
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
			}
			s, err := acl.New(c)
			if err != nil {
				t.Fatal(err)
			}
			g := engine.Grant{Subject: "clerk", Resource: note, Permission: engine.MayRead}
			wantOK(t, x.name+": grant", s.Grant(t.Context(), g))
			changed, err := s.Deny(t.Context(), g)
			if err != nil || !changed {
				t.Errorf("%s: deny: got %v, %v, want true", x.name, changed, err)
			}
			if grants, err := s.Grants(t.Context()); err != nil || grants.On(note, "clerk") != 0 {
				t.Errorf("%s: the denied permission still counts (%v)", x.name, err)
			}
			if got := strings.Contains(log.String(), "deleting a revoked permission failed"); got != (x.warns && logged) {
				t.Errorf("%s: warned %v, want %v:\n%s", x.name, got, x.warns, log.String())
			}
		}
	}
}
