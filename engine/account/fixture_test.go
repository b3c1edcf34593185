package account_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

// gated is a repository that only the server may use. It counts the calls of Get for accounts,
// and can delay the result of a call.
type gated struct {
	engine.Repository
	mu    sync.Mutex
	reads int
	gate  *gate // for the next read only
	fail  error // if set, Get returns it without reading
}

type gate struct{ arrived, open chan struct{} }

func (g *gated) Get(ctx context.Context, c *engine.Class, id string, _ ...*engine.Load) (*engine.Item, error) {
	g.mu.Lock()
	fail := g.fail
	if c.FullName == "#account" {
		g.reads++
	}
	held := g.gate
	g.gate = nil
	g.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	if err := serverOnly(ctx); err != nil {
		return nil, err
	}
	it, err := g.Repository.Get(ctx, c, id)
	if held != nil {
		close(held.arrived)
		<-held.open
	}
	return it, err
}

func (g *gated) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	if err := serverOnly(ctx); err != nil {
		return nil, err
	}
	return g.Repository.Create(ctx, c, v, o)
}

func (g *gated) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if err := serverOnly(ctx); err != nil {
		return err
	}
	return g.Repository.List(ctx, q, visit)
}

func (g *gated) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	if err := serverOnly(ctx); err != nil {
		return err
	}
	return g.Repository.Delete(ctx, c, id, m)
}

// serverOnly returns an error if the context has an account, which must not use system classes.
func serverOnly(ctx context.Context) error {
	if engine.AccountFrom(ctx) != nil {
		return engine.Errorf(engine.Forbidden, "forbidden", "system classes are the server's")
	}
	return nil
}

// hold makes the next read wait until the gate is opened.
func (g *gated) hold() *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate = &gate{make(chan struct{}), make(chan struct{})}
	return g.gate
}

func (g *gated) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reads
}

func (g *gated) failWith(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
}

// fixture is a Store with settings that a test can change.
type fixture struct {
	*account.Store
	t       testing.TB
	data    *gated
	classes []*engine.Class
	clock   *dbtest.Clock
	hasher  *account.Hasher
	config  account.Config // further settings, for Stores that are created later
}

const password = "correct:horse"

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// onBoth runs a test on a new database of each kind.
func onBoth(t *testing.T, run func(t *testing.T, f *fixture)) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) { run(t, fixtureOn(t, db)) })
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return fixtureOn(t, dbtest.New(t))
}

func fixtureOn(t testing.TB, db dbtest.DB) *fixture {
	t.Helper()
	classes := account.Classes()
	f := &fixture{
		t: t, classes: classes,
		data:   &gated{Repository: db.Open(t, classes...)},
		clock:  dbtest.NewClock(),
		hasher: account.NewHasher(account.HasherConfig{Parallel: 4}),
	}
	f.Store = f.another()
	return f
}

// another returns a second Store on the same data, as another process would use.
func (f *fixture) another() *account.Store {
	f.t.Helper()
	c := f.config
	c.Data, c.Classes, c.Hasher, c.Now = f.data, f.classes, f.hasher, f.clock.Now
	s, err := account.New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fixture) class(name string) *engine.Class {
	for _, c := range f.classes {
		if c.FullName == name {
			return c
		}
	}
	f.t.Fatalf("no class %s", name)
	return nil
}

// put changes properties of a stored account without the knowledge of the Store.
func (f *fixture) put(id string, values map[string]any) {
	f.t.Helper()
	c := f.class("#account")
	v := engine.NewValues(c)
	for name, value := range values {
		v[c.Property(name).Index] = value
	}
	if _, err := f.data.Update(context.Background(), c, id, v, engine.WriteOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) stored(id string) string {
	f.t.Helper()
	it, err := f.data.Repository.Get(context.Background(), f.class("#account"), id)
	if err != nil {
		f.t.Fatal(err)
	}
	hash, _ := it.Get("pwd").(string)
	return hash
}

func (f *fixture) add(id string) {
	f.t.Helper()
	if err := f.Add(context.Background(), account.Account{ID: id, Name: "Name of " + id, Roles: []string{"a", "b c"}}, password); err != nil {
		f.t.Fatal(err)
	}
}

// signIn tries a user name and a password and returns the error.
func signIn(s *account.Store, user, password string) error {
	_, err := s.Authenticate(context.Background(), engine.AuthPwd, engine.Credentials{User: user, Password: password})
	return err
}

func useToken(s *account.Store, secret string) error {
	_, err := s.Authenticate(context.Background(), engine.AuthToken, engine.Credentials{Token: secret})
	return err
}

func wantCode(t testing.TB, what string, err error, code engine.Code) {
	t.Helper()
	if err == nil || engine.CodeOf(err) != code {
		t.Errorf("%s: error %v, code %d; want code %d", what, err, engine.CodeOf(err), code)
	}
}

func wantOK(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
