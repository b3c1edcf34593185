package acl_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"restsrv/engine"
	"restsrv/engine/acl"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// place is one database, of which each process has its own connections.
type place struct {
	t  testing.TB
	db dbtest.DB
}

// onBoth runs a test on a new database of each kind.
func onBoth(t *testing.T, run func(t *testing.T, p place)) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) { run(t, place{t, db}) })
}

// process is a Store with settings that a test can change.
type process struct {
	*acl.Store
	t       testing.TB
	data    *watched
	classes []*engine.Class
	clock   *dbtest.Clock
	log     audit
}

func (p place) process() *process {
	p.t.Helper()
	classes := acl.Classes()
	made := &process{t: p.t, data: &watched{Repository: p.db.Open(p.t, classes...)}, classes: classes, clock: dbtest.NewClock()}
	var err error
	made.Store, err = acl.New(acl.Config{Data: made.data, Classes: classes, Audit: &made.log, Now: made.clock.Now})
	if err != nil {
		p.t.Fatal(err)
	}
	return made
}

// serving is a process that also stores items of a class.
type serving struct {
	*process
	items *store.Store
}

func (p place) serving(c *engine.Class) serving {
	p.t.Helper()
	made := &process{t: p.t, classes: acl.Classes(), clock: dbtest.NewClock()}
	permission, policy := acl.ItemClasses(made.classes)
	items := p.db.OpenWith(p.t, store.Config{Classes: slices.Concat(made.classes, []*engine.Class{c}),
		PermissionClass: permission, PolicyClass: policy, Regranted: func() { made.Forget() }})
	made.data = &watched{Repository: items}
	var err error
	if made.Store, err = acl.New(acl.Config{Data: made.data, Classes: made.classes, Now: made.clock.Now}); err != nil {
		p.t.Fatal(err)
	}
	return serving{made, items}
}

// on returns the permissions of subjects on a resource, by the current grants.
func (p *process) on(resource string, subjects ...string) string {
	p.t.Helper()
	return p.grants().On(resource, subjects...).String()
}

func (p *process) grants() *engine.Grants {
	p.t.Helper()
	g, err := p.Grants(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return g
}

func (p *process) grant(subject, resource string, permission engine.Permission) {
	p.t.Helper()
	wantOK(p.t, "grant", p.Grant(p.t.Context(), engine.Grant{Subject: subject, Resource: resource, Permission: permission}))
}

func (p *process) deny(subject, resource string, permission engine.Permission) bool {
	p.t.Helper()
	changed, err := p.Deny(p.t.Context(), engine.Grant{Subject: subject, Resource: resource, Permission: permission})
	wantOK(p.t, "deny", err)
	return changed
}

// listed returns all grants that the filter selects, one in a line.
func (p *process) listed(f acl.Filter) string {
	p.t.Helper()
	all, err := p.List(p.t.Context(), f)
	if err != nil {
		p.t.Fatal(err)
	}
	var b strings.Builder
	for _, g := range all {
		b.WriteString(g.Subject + " " + g.Resource + " " + g.Permission.String() + "\n")
	}
	return b.String()
}

// watched is a repository that only the server may use. It counts its reads, and can delay them
// or make them fail.
type watched struct {
	engine.Repository
	reads atomic.Int64
	mu    sync.Mutex
	gate  chan struct{} // if set, reads wait until it is closed
	fail  error
}

func (w *watched) read(ctx context.Context) error {
	w.reads.Add(1)
	w.mu.Lock()
	gate, fail := w.gate, w.fail
	w.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if engine.AccountFrom(ctx) != nil || engine.GuardFrom(ctx) != nil {
		return engine.Denied()
	}
	return fail
}

func (w *watched) set(gate chan struct{}, fail error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate, w.fail = gate, fail
}

func (w *watched) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	return w.Repository.Get(ctx, c, id, load...)
}

func (w *watched) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if err := w.read(ctx); err != nil {
		return err
	}
	return w.Repository.List(ctx, q, visit)
}

func (w *watched) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	if engine.AccountFrom(ctx) != nil || engine.GuardFrom(ctx) != nil {
		return nil, engine.Denied()
	}
	return w.Repository.Save(ctx, records)
}

func (w *watched) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	return engine.InTransaction(ctx, w.Repository, work)
}

// audit collects events.
type audit struct{ events []engine.Event }

func (a *audit) Audit(_ context.Context, e engine.Event) { a.events = append(a.events, e) }

func wantOK(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func wantCode(t testing.TB, what string, err error, code engine.Code) {
	t.Helper()
	if err == nil || engine.CodeOf(err) != code {
		t.Errorf("%s: error %v, code %d; want code %d", what, err, engine.CodeOf(err), code)
	}
}
