package replay_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/replay"
	"restsrv/engine/service"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

// fixture is a Keeper with a real database and a class of notes.
type fixture struct {
	*testing.T
	keeper *replay.Keeper
	data   *store.Store
	notes  *engine.Class
	class  *engine.Class
	mu     sync.Mutex
	now    time.Time
}

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func open(t *testing.T) *fixture { return openOn(t, dbtest.New(t)) }

func openOn(t *testing.T, db dbtest.DB) *fixture {
	t.Helper()
	f := &fixture{T: t, now: time.Now(), class: replay.Class(), notes: &engine.Class{Name: "note", Key: []string{"id"},
		Properties: []*engine.Property{{Name: "id", Type: engine.GUID, Autoassigned: true}}}}
	if err := f.notes.Init(); err != nil {
		t.Fatal(err)
	}
	f.data = db.Open(t, f.notes, f.class)
	f.keeper = replay.New(replay.Config{Data: f.data, Class: f.class, Now: func() time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.now
	}})
	return f
}

func (f *fixture) later(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) begin(request string) (service.Attempt, error) {
	return f.keeper.Begin(context.Background(), "scope", "key", []byte(request))
}

func (f *fixture) mustBegin(request string) service.Attempt {
	f.Helper()
	a, err := f.begin(request)
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// save saves a note and the record of the attempt, as the acceptor does.
func (f *fixture) save(a service.Attempt) (string, error) {
	items, err := f.data.Save(context.Background(), []engine.Record{{Class: f.notes, Values: engine.NewValues(f.notes)}, a.Record()})
	if err != nil {
		return "", err
	}
	if len(items) != 1 {
		f.Errorf("got %d items, want 1", len(items))
	}
	return items[0].ID, nil
}

func (f *fixture) count(c *engine.Class) int64 {
	f.Helper()
	n, err := f.data.Count(context.Background(), &engine.Query{Class: c, Count: -1})
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func want(t *testing.T, what string, err error, code engine.Code) {
	t.Helper()
	if err == nil || engine.CodeOf(err) != code {
		t.Errorf("%s: got %v, want code %d", what, err, code)
	}
}

// TestReplay checks that a repeated request gets the answer of the first request, and that a
// request with another body or in another scope does not get this answer.
func TestReplay(t *testing.T) {
	f := open(t)
	a := f.mustBegin("body")
	if a.Answer() != nil || a.Saved() != nil {
		t.Fatal("the first attempt has an answer")
	}
	if _, err := f.save(a); err != nil {
		t.Fatal(err)
	}
	first := &service.Response{Status: 200, ContentType: "application/json", Header: http.Header{"Warning": {"299 - x"}}, Body: []byte(`["чай",1]`)}
	a.Finish(context.Background(), first, "")
	for range 2 {
		b := f.mustBegin("body")
		if got := b.Answer(); got == nil || string(got.Body) != string(first.Body) || got.ContentType != first.ContentType || got.Header.Get("Warning") != "299 - x" || got.Status != 200 {
			t.Fatalf("got the answer %+v, want the first one", got)
		}
	}
	_, err := f.begin("other body")
	want(t, "another request", err, engine.Unprocessable)
	if a, err := f.keeper.Begin(context.Background(), "other scope", "key", []byte("other body")); err != nil || a.Answer() != nil {
		t.Errorf("another scope: got %v, want a first attempt", err)
	}
	f.later(replay.Lifetime + time.Second)
	if a := f.mustBegin("other body"); a.Answer() != nil {
		t.Error("the key did not expire")
	}
}

// TestBinaryAnswer checks that a stored answer is returned byte for byte, even if it is not text
// or has characters that PostgreSQL cannot store.
func TestBinaryAnswer(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		f := openOn(t, db)
		for _, body := range []string{"\x00\xff\x01", "a\x00b", `{"a":"\u0000"}`, "чай", ""} {
			a := f.mustBegin(body)
			if _, err := f.save(a); err != nil {
				t.Fatal(err)
			}
			a.Finish(t.Context(), &service.Response{Body: []byte(body)}, "")
			if got := f.mustBegin(body).Answer(); got == nil || string(got.Body) != body {
				t.Errorf("%q: got %+v, want that body", body, got)
			}
			f.later(replay.Lifetime + time.Second)
		}
	})
}

// TestRunning checks that a request is refused while the first request with its key is running.
// The first request blocks the key for at most ClaimTime.
func TestRunning(t *testing.T) {
	f := open(t)
	slow := f.mustBegin("body")
	_, err := f.begin("body")
	want(t, "the same request", err, engine.Conflict)
	_, err = f.begin("other")
	want(t, "another request", err, engine.Unprocessable)
	f.later(replay.ClaimTime + time.Second)
	second := f.mustBegin("body")
	if _, err := f.save(second); err != nil {
		t.Fatal(err)
	}
	// The first request has not died but was slow. It must not save a second time.
	_, err = f.save(slow)
	want(t, "the slow one", err, engine.Invalid)
	want(t, "its answer", slow.Failed(context.Background(), err), engine.Conflict)
	if n := f.count(f.notes); n != 1 {
		t.Errorf("got %d notes, want 1", n)
	}
}

// TestFailed checks that a failed request releases its key.
func TestFailed(t *testing.T) {
	f := open(t)
	a := f.mustBegin("body")
	wrong := engine.Errorf(engine.Invalid, "required", "x")
	if err := a.Failed(context.Background(), wrong); err != error(wrong) {
		t.Errorf("Failed: got %v, want the given error", err)
	}
	if a := f.mustBegin("mended"); a.Answer() != nil {
		t.Error("the second attempt has an answer")
	}
}

// TestCutOff checks a process that ended after it had saved the items of a request and before it
// answered: a repetition does not execute the request again.
func TestCutOff(t *testing.T) {
	f := open(t)
	id, err := f.save(f.mustBegin("body"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.begin("body")
	want(t, "it may still be running", err, engine.Conflict)
	f.later(replay.ClaimTime + time.Second)
	a := f.mustBegin("body")
	if a.Answer() != nil || len(a.Saved()) != 1 || a.Saved()[0] != (service.SavedItem{Class: "note", ID: id}) {
		t.Fatalf("got the answer %+v and the items %+v, want only the items", a.Answer(), a.Saved())
	}
	a.Finish(context.Background(), &service.Response{Status: 200, Body: []byte("again")}, "")
	if got := f.mustBegin("body").Answer(); got == nil || string(got.Body) != "again" {
		t.Errorf("got the answer %+v, want again", got)
	}
}

// TestTogether checks that only one of many equal concurrent requests takes effect.
func TestTogether(t *testing.T) {
	f := open(t)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			a, err := f.begin("body")
			if err != nil {
				if engine.CodeOf(err) != engine.Conflict {
					t.Error(err)
				}
				return
			}
			if a.Answer() != nil {
				return
			}
			if _, err := f.save(a); err != nil {
				t.Error(a.Failed(context.Background(), err))
				return
			}
			a.Finish(context.Background(), &service.Response{Status: 200}, "")
		})
	}
	wg.Wait()
	if n := f.count(f.notes); n != 1 {
		t.Errorf("got %d notes, want 1", n)
	}
}

// TestSweep checks that only expired rows are removed.
func TestSweep(t *testing.T) {
	f := open(t)
	if _, err := f.save(f.mustBegin("body")); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		after time.Duration
		rows  int64
	}{{0, 2}, {2 * replay.ClaimTime, 1}, {replay.Lifetime, 0}} {
		f.later(c.after)
		if err := f.keeper.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := f.count(f.class); n != c.rows {
			t.Errorf("%d: %d rows are left, want %d", i, n, c.rows)
		}
	}
}

// TestKeys checks the rules for valid keys.
func TestKeys(t *testing.T) {
	f := open(t)
	long := make([]byte, 256)
	for i := range long {
		long[i] = 'x'
	}
	for key, ok := range map[string]bool{"a": true, "a b~!": true, string(long[:255]): true, string(long): false, "": false, "a\x00": false, "é": false, "a\n": false} {
		_, err := f.keeper.Begin(context.Background(), "scope", key, nil)
		if (err == nil) != ok || err != nil && engine.CodeOf(err) != engine.Invalid {
			t.Errorf("key %q: got %v, valid is %v", key, err, ok)
		}
	}
}

// TestShares checks the limits for the keys and bytes of an account. They do not affect other
// accounts or stored answers, and the share is free again when the keys have expired.
func TestShares(t *testing.T) {
	f := open(t)
	f.keeper = replay.New(replay.Config{Data: f.data, Class: f.class, Now: func() time.Time { return f.now }, Limits: replay.Limits{Keys: 3, Bytes: 3000, Answer: 1000}})
	as := func(id string) context.Context {
		return engine.WithAccount(context.Background(), &engine.Account{ID: id})
	}
	begin := func(id, key string) (service.Attempt, error) { return f.keeper.Begin(as(id), id, key, []byte(key)) }
	do := func(id, key string, size int) {
		t.Helper()
		a, err := begin(id, key)
		if err != nil {
			t.Fatalf("%s %s: %v", id, key, err)
		}
		if _, err := f.save(a); err != nil {
			t.Fatal(err)
		}
		a.Finish(as(id), &service.Response{Body: bytes.Repeat([]byte("x"), size)}, "")
	}
	for _, key := range []string{"1", "2", "3"} {
		do("ann@local", key, 1)
	}
	for range 2 {
		_, err := begin("ann@local", "4")
		want(t, "a key too many", err, engine.TooMany)
		f.later(2 * time.Second) // the usage is read again
	}
	if got := f.keeper.Refused(); got != 2 {
		t.Errorf("got %d refused requests, want 2", got)
	}
	if a, err := begin("ann@local", "2"); err != nil || a.Answer() == nil {
		t.Errorf("a stored key: got %v, want its answer", err)
	}
	do("bob@local", "1", 900)
	do("bob@local", "2", 1001)
	if a, err := begin("bob@local", "2"); err != nil || a.Answer() != nil || len(a.Saved()) != 1 {
		t.Errorf("an answer that is too long: got %v, want the saved items without an answer", err)
	}
	f.later(replay.Lifetime + time.Minute)
	if err := f.keeper.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	do("ann@local", "4", 1)
	f.keeper = replay.New(replay.Config{Data: f.data, Class: f.class, Limits: replay.Limits{Bytes: 1000}})
	do("eve@local", "1", 900)
	_, err := begin("eve@local", "2")
	want(t, "bytes too many", err, engine.TooMany)
	f.keeper = replay.New(replay.Config{Data: f.data, Class: f.class, Limits: replay.Limits{Total: 1000}})
	_, err = begin("max@local", "1")
	want(t, "bytes of all accounts", err, engine.Unavailable)
}
