package script

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// app is an application directory with a Runtime for it.
type app struct {
	t    testing.TB
	dir  string
	rt   *Runtime
	log  *logBuffer
	repo *memory
	data engine.Repository // for the services; nil means repo
	opts service.Options
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newApp(t testing.TB, limits limits.Limits, dev bool) *app {
	t.Helper()
	return startApp(t, Config{Limits: limits, Dev: dev})
}

// longestCPU is the CPU limit for all tests, because the first Runtime of a
// process sets it.
const longestCPU = 2 * time.Second

func startApp(t testing.TB, c Config) *app {
	t.Helper()
	a := &app{t: t, dir: t.TempDir(), log: &logBuffer{}, repo: newMemory(t)}
	c.Dir = a.dir
	if c.MaxCPU == 0 {
		c.MaxCPU = longestCPU
	}
	for _, limit := range []*time.Duration{&c.Limits.CPU, &c.Limits.Load} { // long enough for a busy machine
		if *limit == 0 {
			*limit = longestCPU
		}
	}
	c.Log = slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	a.rt = rt
	t.Cleanup(rt.Close)
	return a
}

func (a *app) write(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

func (a *app) service(file string) Service {
	if a.data == nil {
		a.data = a.repo
	}
	return Service{Name: "svc", File: file, Env: &service.Env{Service: "svc", Meta: a.repo, Data: a.data}, Options: a.opts}
}

func (a *app) load(text string) *Generation {
	a.t.Helper()
	a.write("svc.js", text)
	g, err := a.rt.Load(a.service("svc.js"))
	if err != nil {
		a.t.Fatalf("load: %v", err)
	}
	return g
}

// request is the request of a test.
type request struct {
	method, path, query, contentType, body string
	header                                 http.Header
	params                                 []service.Param
	account                                *engine.Account
	ctx                                    context.Context
}

func (q request) build() (context.Context, *service.Request) {
	r := &service.Request{
		ID: "r1", Service: "svc", Method: q.method, Path: q.path, RawQuery: q.query, Header: http.Header{},
		Params: q.params, Account: q.account, Host: "example.org:8888", RemoteIP: "192.0.2.1",
	}
	if q.header != nil {
		r.Header = q.header
	}
	if q.method == "" {
		r.Method = "GET"
	}
	if q.path == "" {
		r.Path = "/"
	}
	if q.contentType != "" {
		r.Header.Set("Content-Type", q.contentType)
	}
	if q.body != "" {
		r.Body = strings.NewReader(q.body)
	}
	if q.ctx == nil {
		q.ctx = context.Background()
	}
	return q.ctx, r
}

// send sends a request to the first route of its method.
func send(t testing.TB, s service.Service, q request) (*service.Response, error) {
	t.Helper()
	ctx, r := q.build()
	for _, route := range s.Routes() {
		if route.Method == r.Method {
			return route.Handler(ctx, r)
		}
	}
	t.Fatalf("no route for %s", r.Method)
	return nil, nil
}

var codeWords = map[engine.Code]string{
	engine.Internal: "internal", engine.Invalid: "invalid", engine.NotFound: "not found", engine.TooLarge: "too large",
	engine.Unavailable: "unavailable", engine.Timeout: "timeout",
}

// answer returns a response, or an error in the form of the server, in one
// line.
func answer(r *service.Response, err error) string {
	if err != nil {
		return fmt.Sprintf("error %s %s", codeWords[engine.CodeOf(err)], err.(*engine.Error).Message)
	}
	status := r.Status
	if status == 0 {
		status = 200
	}
	return fmt.Sprintf("%d %s %s", status, r.ContentType, r.Body)
}

func get(t testing.TB, s service.Service) string {
	t.Helper()
	return answer(send(t, s, request{}))
}

func expect(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func expectIn(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

// eventually waits until a condition is true, with a generous limit for slow
// machines.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("timed out waiting for: %s", what)
}

const jsonType = "200 application/json; charset=utf-8 "

// memory is a small engine.Repository and MetaRepository.
type memory struct {
	class *engine.Class

	mu    sync.Mutex
	items []*engine.Item
	seq   int
	delay func()        // called before each operation
	away  chan struct{} // operations wait until it is closed or their context ends; nil to disable
	fail  error         // error of each operation
	who   []string
}

func newMemory(t testing.TB) *memory {
	c := &engine.Class{
		Name: "note", Namespace: "demo", Caption: "Note", Version: "1", Key: []string{"id"}, Semantic: "title",
		Properties: []*engine.Property{
			{Name: "id", Caption: "Id", Type: engine.GUID, Autoassigned: true},
			{Name: "title", Caption: "Title", Type: engine.String, Nullable: true},
			{Name: "n", Caption: "Number", Type: engine.Int, Nullable: true},
			{Name: "price", Caption: "Price", Type: engine.DecimalNum, Nullable: true},
			{Name: "at", Caption: "At", Type: engine.DateTime, Nullable: true},
			{Name: "done", Caption: "Done", Type: engine.Boolean, Nullable: true},
			{Name: "secret", Caption: "Secret", Type: engine.Password, Nullable: true},
		},
	}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return &memory{class: c}
}

func (m *memory) Class(name string) (*engine.Class, error) {
	if name == m.class.FullName {
		return m.class, nil
	}
	return nil, engine.NoClass(name)
}

func (m *memory) Classes() []*engine.Class { return []*engine.Class{m.class} }

func (m *memory) enter(ctx context.Context) error {
	if m.delay != nil {
		m.delay()
	}
	if m.away != nil {
		select {
		case <-m.away:
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := "nobody"
	if a := engine.AccountFrom(ctx); a != nil {
		id = a.ID
	}
	m.who = append(m.who, id)
	if err := ctx.Err(); err != nil {
		return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "too late", Err: err}
	}
	return m.fail
}

func (m *memory) Get(ctx context.Context, c *engine.Class, id string, _ ...*engine.Load) (*engine.Item, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, it := range m.items {
		if it.ID == id {
			return it.Clone(), nil
		}
	}
	return nil, engine.NoItem(c, id)
}

func matches(it *engine.Item, f *engine.Filter) bool {
	if f == nil {
		return true
	}
	switch f.Op {
	case engine.OpAnd:
		for _, a := range f.Args {
			if !matches(it, a) {
				return false
			}
		}
		return true
	case engine.OpEq:
		return it.Values[f.Left.Path[0].Index] == f.Right.Value
	}
	return false
}

func (m *memory) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	items := append([]*engine.Item(nil), m.items...)
	m.mu.Unlock()
	offset, n := q.Offset, 0
	if q.Total != nil {
		*q.Total = 0
		for _, it := range items {
			if matches(it, q.Filter) {
				*q.Total++
			}
		}
	}
	shared := &engine.Item{}
	for _, it := range items {
		if !matches(it, q.Filter) {
			continue
		}
		if offset > 0 {
			offset--
			continue
		}
		if q.Count >= 0 && n >= q.Count {
			break
		}
		n++
		values := append(shared.Values[:0], it.Values...)
		*shared = *it // the item is valid only during the callback
		shared.Values = values
		if err := visit(shared); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Count(ctx context.Context, q *engine.Query) (int64, error) {
	n := int64(0)
	all := *q
	all.Offset, all.Count = 0, -1
	err := m.List(ctx, &all, func(*engine.Item) error { n++; return nil })
	return n, err
}

func (m *memory) Aggregate(context.Context, *engine.Aggregation, func([]any) error) error {
	return engine.Errorf(engine.Internal, "internal", "not for tests of scripts")
}

func (m *memory) Create(ctx context.Context, c *engine.Class, v engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	err := c.Complete(v, engine.Generate{GUID: func() string { return fmt.Sprint("g", m.seq) }, Now: func() engine.Instant { return 0 }})
	if err != nil {
		return nil, err
	}
	it := &engine.Item{Class: c, ID: c.ID(v), Revision: uint64(m.seq), Values: v, Creator: engine.AccountFrom(ctx).ID}
	m.items = append(m.items, it)
	return it.Clone(), nil
}

func (m *memory) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, it := range m.items {
		if it.ID == id {
			changed := it.Clone()
			for j := range v {
				if v[j] != engine.Absent {
					changed.Values[j] = v[j]
				}
			}
			changed.Editor = engine.AccountFrom(ctx).ID
			m.items[i] = changed
			return changed.Clone(), nil
		}
	}
	return nil, engine.NoItem(c, id)
}

func (m *memory) Delete(ctx context.Context, c *engine.Class, id string, _ *engine.Match) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, it := range m.items {
		if it.ID == id {
			m.items = append(m.items[:i:i], m.items[i+1:]...)
			return nil
		}
	}
	return engine.NoItem(c, id)
}

// found lists the ids of the result of q.
func (m *memory) found(ctx context.Context, q *engine.Query) (ids []string, err error) {
	err = m.List(ctx, q, func(it *engine.Item) error {
		ids = append(ids, it.ID)
		return nil
	})
	return ids, err
}

func (m *memory) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (n int64, err error) {
	ids, err := m.found(ctx, q)
	for _, id := range ids {
		if _, err := m.Update(ctx, q.Class, id, v, engine.WriteOptions{}); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

func (m *memory) DeleteAll(ctx context.Context, q *engine.Query) (n int64, err error) {
	ids, err := m.found(ctx, q)
	for _, id := range ids {
		if err := m.Delete(ctx, q.Class, id, nil); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

func (m *memory) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	var saved []*engine.Item
	for _, r := range records {
		it, err := m.Update(ctx, r.Class, r.ID, append(engine.Values(nil), r.Values...), engine.WriteOptions{})
		if engine.CodeOf(err) == engine.NotFound && err != nil {
			if r.ID != "" {
				r.Values[0] = r.ID
			}
			it, err = m.Create(ctx, r.Class, r.Values, engine.WriteOptions{})
		}
		if err != nil {
			return nil, err
		}
		saved = append(saved, it)
	}
	return saved, nil
}

// fill creates n notes.
func (m *memory) fill(t testing.TB, n int) {
	t.Helper()
	ctx := engine.WithAccount(context.Background(), &engine.Account{ID: "setup@local"})
	for i := range n {
		v, _, err := m.class.Bind(engine.Fields{
			{Name: "title", Value: fmt.Sprint("note ", i)}, {Name: "n", Value: int64(i)}, {Name: "price", Value: "12.50"},
			{Name: "at", Value: "2024-02-03T04:05:06Z"}, {Name: "done", Value: i%2 == 0},
		}, engine.Strict)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Create(ctx, m.class, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
