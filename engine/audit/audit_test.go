package audit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// fixture is a Journal with a real database, a readable log and a clock that tests
// set.
type fixture struct {
	*testing.T
	*Journal
	*dbtest.Clock
	data  *held
	class *engine.Class
	mu    sync.Mutex
	log   bytes.Buffer
}

// held is a repository whose writes fail or block if a test requests it.
type held struct {
	engine.Repository
	mu    sync.Mutex
	fail  error
	gate  chan struct{}
	saves int
}

func (h *held) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	h.mu.Lock()
	h.saves++
	fail, gate := h.fail, h.gate
	h.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if fail != nil {
		return nil, fail
	}
	return h.Repository.Save(ctx, records)
}

func (h *held) set(fail error, gate chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail, h.gate = fail, gate
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, Clock: dbtest.NewClock(), class: Class()}
	data := dbtest.New(t).Open(t, f.class)
	f.data = &held{Repository: data}
	f.start()
	t.Cleanup(func() {
		if err := f.Journal.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// start creates a Journal, as the start of the server does.
func (f *fixture) start() {
	f.Journal = New(Config{Data: f.data, Class: f.class, Log: slog.New(slog.NewTextHandler(lockedLog{f}, nil)), Now: f.Now})
}

type lockedLog struct{ f *fixture }

func (l lockedLog) Write(b []byte) (int, error) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	return l.f.log.Write(b)
}

func (f *fixture) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}

// stored closes the Journal and returns the stored events.
func (f *fixture) stored(s Selection) (all []Entry) {
	f.Helper()
	if err := f.Journal.Close(context.Background()); err != nil {
		f.Error(err)
	}
	err := List(context.Background(), f.data, f.class, s, func(e Entry) error {
		all = append(all, e)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return all
}

func (f *fixture) audit(e engine.Event) { f.Audit(context.Background(), e) }

func failure(i int, address string) engine.Event {
	e := engine.Event{Kind: engine.SignInFailed, Account: fmt.Sprintf("n%d@local", i)}
	if address != "" {
		e.Caller.Address = netip.MustParseAddr(address)
	}
	return e
}

func TestEventsAreLoggedAndStored(t *testing.T) {
	f := open(t)
	f.audit(engine.Event{Kind: engine.SignedIn, Account: "ann@local", Service: "crud",
		Caller: engine.Caller{Request: "r-1", Address: netip.MustParseAddr("10.0.0.1")}})
	f.Advance(time.Minute)
	f.audit(engine.Event{Kind: engine.PermissionChanged, Details: engine.Fields{
		{Name: "subject", Value: "staff"}, {Name: "count", Value: 3}, {Name: "roles", Value: []string{"a", "b"}}, {Name: "none", Value: nil}}})
	for _, want := range []string{
		`level=INFO msg=audit event=sign-in account=ann@local address=10.0.0.1 request=r-1 service=crud`,
		`msg=audit event=permission details.subject=staff details.count=3 details.roles="[a b]"`,
	} {
		if !strings.Contains(f.logged(), want) {
			t.Errorf("the log lacks %s:\n%s", want, f.logged())
		}
	}
	all := f.stored(Selection{})
	want := []Entry{
		{At: f.Now().Add(-time.Minute), Kind: "sign-in", Account: "ann@local", Address: "10.0.0.1", Request: "r-1", Service: "crud"},
		{At: f.Now(), Kind: "permission", Details: `{"subject":"staff","count":3,"roles":"[a b]","none":null}`},
	}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("stored\n%+v, want\n%+v", all, want)
	}
}

func TestSelection(t *testing.T) {
	f := open(t)
	for i := range 4 {
		f.audit(engine.Event{Kind: []engine.EventKind{engine.SignedIn, engine.SignedOut}[i%2], Account: []string{"a@b", "c@d"}[i/2]})
		f.Advance(time.Hour)
	}
	start := f.Now().Add(-4 * time.Hour)
	for want, s := range map[int]Selection{
		4: {}, 3: {Since: start.Add(time.Minute)}, 2: {Account: "a@b"}, 1: {Kind: "sign-out", Since: start.Add(2 * time.Hour)}, 0: {Account: "A@b"},
	} {
		if got := f.stored(s); len(got) != want {
			t.Errorf("%+v finds %d, want %d", s, len(got), want)
		}
	}
}

// TestCloseStoresEverything checks that Close stores all events, even if many have just been
// recorded.
func TestCloseStoresEverything(t *testing.T) {
	f := open(t)
	for i := range 3000 {
		f.audit(engine.Event{Kind: engine.TokenIssued, Account: fmt.Sprintf("n%d@local", i)})
	}
	if all := f.stored(Selection{}); len(all) != 3000 || all[2999].Account != "n2999@local" {
		t.Errorf("got %d stored events, want 3000 in order", len(all))
	}
	if f.data.saves > 20 {
		t.Errorf("got %d transactions for 3000 events, want at most 20", f.data.saves)
	}
	f.audit(engine.Event{Kind: engine.SignedOut, Account: "late@local"})
	if !strings.Contains(f.logged(), "late@local") {
		t.Error("an event after Close is not logged")
	}
}

// TestDatabaseAway checks an unreachable database: callers do not wait, memory is bounded, lost
// events are counted, and queued events are stored later.
func TestDatabaseAway(t *testing.T) {
	f := open(t)
	f.data.set(engine.Errorf(engine.Unavailable, "database", "the database is away"), nil)
	const all = capacity + batchSize + 1000
	for i := range all {
		f.audit(engine.Event{Kind: engine.TokenIssued, Account: fmt.Sprintf("n%d@local", i)})
	}
	f.data.set(nil, nil)
	stored := len(f.stored(Selection{}))
	if stored < capacity || stored > capacity+2*batchSize {
		t.Errorf("got %d stored events, want %d to %d", stored, capacity, capacity+2*batchSize)
	}
	if want := fmt.Sprintf("lost=%d", all-stored); !strings.Contains(f.logged(), want) {
		t.Errorf("the log does not contain %s", want)
	}
	if n := strings.Count(f.logged(), "msg=audit "); n != all {
		t.Errorf("%d events logged, want all %d", n, all)
	}
}

// TestCloseGivesUp checks that Close ends even if the database stays unreachable, and reports the
// lost events.
func TestCloseGivesUp(t *testing.T) {
	f := open(t)
	f.data.set(engine.Errorf(engine.Unavailable, "database", "the database is away"), nil)
	for range 10 {
		f.audit(engine.Event{Kind: engine.SignedIn})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := f.Journal.Close(ctx); err == nil || !strings.Contains(err.Error(), "10 audit events") {
		t.Errorf("Close: got %v, want an error with the number of lost events", err)
	}
}

// TestBadEventIsDropped checks that an event that cannot be stored does not delay later events.
func TestBadEventIsDropped(t *testing.T) {
	f := open(t)
	f.data.set(engine.Errorf(engine.Invalid, "x", "no"), nil)
	f.audit(engine.Event{Kind: engine.SignedIn})
	for !strings.Contains(f.logged(), "cannot be stored") {
		time.Sleep(time.Millisecond)
	}
	f.data.set(nil, nil)
	f.audit(engine.Event{Kind: engine.SignedOut})
	if all := f.stored(Selection{}); len(all) != 1 || all[0].Kind != "sign-out" {
		t.Errorf("got the events %+v, want only the sign-out", all)
	}
}

// TestFloodIsSummarized checks a flood of events that any client can cause: it fills neither the
// log nor the database. The events are counted, and other events are still recorded.
func TestFloodIsSummarized(t *testing.T) {
	f := open(t)
	for i := range 10_000 {
		f.audit(failure(i, fmt.Sprintf("10.0.%d.%d", i%50, i%7)))
	}
	f.audit(engine.Event{Kind: engine.RequestDenied})
	f.audit(engine.Event{Kind: engine.SignedIn, Account: "ann@local"})
	all := f.stored(Selection{})
	var failures, others int
	for _, e := range all {
		if e.Kind == "sign-in-failed" {
			failures++
		} else {
			others++
		}
	}
	if failures != maxFlood+1 || others != 2 {
		t.Errorf("got %d failures and %d other events, want %d and 2", failures, others, maxFlood+1)
	}
	if want := `"notKept":9700,`; !strings.Contains(fmt.Sprint(all), want) || !strings.Contains(f.logged(), "details.notKept=9700") {
		t.Errorf("the events and the log do not contain %s", want)
	}
	if n := len(f.logged()); n > 100_000 {
		t.Errorf("got a log of %d bytes, want at most 100000", n)
	}
}

func TestFloodFromOneNetwork(t *testing.T) {
	f := open(t)
	for i := range 100 {
		f.audit(failure(i, fmt.Sprintf("2001:db8:1:2::%x", i+1)))
	}
	f.audit(failure(1, "2001:db8:1:3::1"))
	f.audit(failure(2, ""))
	if n := len(f.stored(Selection{})); n != maxFloodFrom+2+1 {
		t.Errorf("got %d stored events, want %d", n, maxFloodFrom+2+1)
	}
}

// TestFloodEnds checks that events are recorded again after a minute.
func TestFloodEnds(t *testing.T) {
	f := open(t)
	for i := range maxFloodFrom {
		f.audit(failure(i, "10.0.0.1"))
	}
	f.Advance(floodTime)
	for i := range maxFloodFrom {
		f.audit(failure(i, "10.0.0.1"))
	}
	f.audit(failure(0, "10.0.0.1"))
	f.floods.close(f.Now()) // the timer does the same
	f.audit(failure(1, "10.0.0.1"))
	if n := len(f.stored(Selection{})); n != 2*maxFloodFrom+2 {
		t.Errorf("got %d stored events, want %d", n, 2*maxFloodFrom+2)
	}
}

func TestOldRowsGo(t *testing.T) {
	f := open(t)
	f.audit(engine.Event{Kind: engine.SignedIn, Account: "old@local"})
	f.stored(Selection{})
	f.Advance(DefaultKeep - time.Hour)
	f.start()
	f.audit(engine.Event{Kind: engine.SignedIn, Account: "young@local"})
	if n := len(f.stored(Selection{})); n != 2 {
		t.Errorf("got %d stored events, want 2", n)
	}
	f.Advance(2 * time.Hour)
	f.start()
	f.audit(engine.Event{Kind: engine.SignedOut})
	if all := f.stored(Selection{Kind: "sign-in"}); len(all) != 1 || all[0].Account != "young@local" {
		t.Errorf("got the events %+v, want only the young one", all)
	}
}

// TestFloodOfOneAccount checks an account that constantly signs in and takes tokens: it fills
// neither the log nor the database. Events of other accounts and of other kinds are still
// recorded.
func TestFloodOfOneAccount(t *testing.T) {
	f := open(t)
	for range 1000 {
		f.audit(engine.Event{Kind: engine.SignedIn, Account: "ann@local"})
		f.audit(engine.Event{Kind: engine.TokenIssued, Account: "ann@local"})
		f.audit(engine.Event{Kind: engine.AccountChanged, Account: "root@local"})
	}
	f.audit(engine.Event{Kind: engine.SignedIn, Account: "bob@local"})
	count := map[string]int{}
	for _, e := range f.stored(Selection{}) {
		count[e.Kind+" "+e.Account]++
		if e.Details != "" && !strings.Contains(e.Details, `"notKept":880,`) {
			t.Errorf("got a summary %s, want 880 events not kept", e.Details)
		}
	}
	want := map[string]int{"sign-in ann@local": maxFloodOf + 1, "token ann@local": maxFloodOf + 1, "account root@local": 1000, "sign-in bob@local": 1}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", count, want)
	}
}

// TestFloodsAreBounded checks that the counters take bounded memory for any number of accounts.
func TestFloodsAreBounded(t *testing.T) {
	f := &floods{record: func(entry) {}}
	for i := range 2*floodsRecorded + 1 {
		f.admitEvent(entry{time.Unix(0, 0), engine.Event{Kind: engine.SignedIn, Account: fmt.Sprint(i)}})
	}
	if got := len(f.all); got > floodsRecorded {
		t.Errorf("got %d counters, want at most %d", got, floodsRecorded)
	}
}

// TestRowsAreBounded checks that the oldest rows are removed if there are too many, both when the
// Journal starts and while it writes.
func TestRowsAreBounded(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		c, clock := Class(), dbtest.NewClock()
		data := db.Open(t, c)
		var log bytes.Buffer
		stored := func(events int) (all []string) {
			j := New(Config{Data: data, Class: c, Rows: 1000, Now: clock.Now, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			for i := range events {
				clock.Advance(time.Millisecond)
				j.Audit(t.Context(), engine.Event{Kind: engine.AccountChanged, Account: fmt.Sprint(i)})
			}
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := List(t.Context(), data, c, Selection{}, func(e Entry) error {
				all = append(all, e.Account)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if got := stored(4000); len(got) < 1000 || len(got) > 1000+100+batchSize || got[len(got)-1] != "3999" {
			t.Errorf("got %d rows, want 1000 to %d, and the newest", len(got), 1000+100+batchSize)
		}
		if got := stored(1); len(got) != 1001 {
			t.Errorf("got %d rows after another start, want 1001", len(got))
		}
		if !strings.Contains(log.String(), "limit=1000 removed=") {
			t.Errorf("got the log %s, want a line with the limit", &log)
		}
	})
}

func TestWithoutRows(t *testing.T) {
	var log bytes.Buffer
	j := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	j.Audit(context.Background(), engine.Event{Kind: engine.SignedIn})
	if err := j.Close(context.Background()); err != nil || !strings.Contains(log.String(), "event=sign-in") {
		t.Errorf("Close: got %v, with the log %s", err, &log)
	}
}

// TestSecretsAreRedacted checks that a value is redacted in the log and in the database if it
// looks like a secret, or if its name suggests a secret.
func TestSecretsAreRedacted(t *testing.T) {
	f := open(t)
	token := strings.Repeat("c0ffee1234", 4)
	canaries := []string{"canary", token, "c2VjcmV0LWNhbmFyeQ", "JDJhJDEw"}
	f.audit(engine.Event{
		Kind: engine.TokenIssued, Account: "ann@local\nlevel=ERROR msg=forged\x00", Service: "token " + token,
		Caller: engine.Caller{Request: "r " + token},
		Details: engine.Fields{
			{Name: "password", Value: "canary"}, {Name: "Client_Secret", Value: "canary"}, {Name: "refresh-token", Value: "canary"},
			{Name: "code", Value: "canary"}, {Name: "path", Value: "/rest/x/" + token}, {Name: "list", Value: []any{token}},
			{Name: "header", Value: "Basic c2VjcmV0LWNhbmFyeQ=="}, {Name: "hash", Value: "$argon2id$v=19$m=1,t=1,p=1$canary$canary"},
			{Name: "old", Value: "pbkdf2$10000$canary"}, {Name: "bearer", Value: "bearer JDJhJDEwabc"}, {Name: "token", Value: "id-of-it"},
			{Name: "long", Value: strings.Repeat("ä", 5000)}, {Name: "bytes", Value: "a\xffb"},
		}})
	all := f.stored(Selection{})
	text := f.logged() + fmt.Sprintf("%+v", all)
	for _, c := range canaries {
		if strings.Contains(text, c) {
			t.Errorf("the secret %s appears in:\n%s", c, text)
		}
	}
	if len(all) != 1 || len(all[0].Details) > 3000 || strings.Contains(f.logged(), "\nlevel=ERROR") || !strings.Contains(all[0].Details, `"token":"id-of-it"`) {
		t.Errorf("got the events %+v\nand the log %s", all, f.logged())
	}
}
