package journal_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/journal"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
)

// diary is a store of notes with a journal, and a clock that tests set.
type diary struct {
	*store.Store
	*dbtest.Clock
	notes, changes *engine.Class
}

func open(t *testing.T) *diary {
	notes := &engine.Class{Name: "note", Namespace: "s", Version: "2", Key: []string{"id"}, Journaling: true, Properties: []*engine.Property{
		{Name: "id", Type: engine.String}, {Name: "title", Type: engine.String, Nullable: true}}}
	if err := notes.Init(); err != nil {
		t.Fatal(err)
	}
	d := &diary{Clock: dbtest.NewClock(), notes: notes, changes: journal.Class()}
	d.Store = dbtest.New(t).OpenWith(t, store.Config{Classes: []*engine.Class{notes, d.changes}, Journal: journal.New(d.changes), Now: d.Now})
	return d
}

// write sets the title of a note, and creates the note if necessary.
func (d *diary) write(t *testing.T, ctx context.Context, id, title string) {
	t.Helper()
	v := engine.NewValues(d.notes)
	v[1] = title
	if _, err := d.Save(ctx, []engine.Record{{Class: d.notes, ID: id, Values: v}}); err != nil {
		t.Fatal(err)
	}
}

func (d *diary) list(t *testing.T, s journal.Selection) (all []string) {
	t.Helper()
	err := journal.List(t.Context(), d.Store, d.changes, s, func(r journal.Record) error {
		all = append(all, r.Type+" "+r.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestListAndForget(t *testing.T) {
	d := open(t)
	ann := engine.WithAccount(t.Context(), &engine.Account{ID: "ann@local"})
	start := d.Now()
	d.write(t, ann, "2", "a")
	d.Advance(time.Hour)
	d.write(t, t.Context(), "1", "b")
	d.write(t, ann, "1", "c")
	d.Advance(time.Hour)
	d.write(t, ann, "2", "d")
	check := func(s journal.Selection, want ...string) {
		t.Helper()
		if got := d.list(t, s); !slices.Equal(got, want) {
			t.Errorf("%+v finds %q, want %q", s, got, want)
		}
	}
	check(journal.Selection{}, "CREATE 2", "CREATE 1", "UPDATE 1", "UPDATE 2")
	check(journal.Selection{Since: start.Add(time.Hour)}, "CREATE 1", "UPDATE 1", "UPDATE 2")
	check(journal.Selection{Since: start, Until: start.Add(time.Hour)}, "CREATE 2")
	check(journal.Selection{Author: "ann@local", Type: journal.Update}, "UPDATE 1", "UPDATE 2")
	check(journal.Selection{Class: "note@s", ID: "2"}, "CREATE 2", "UPDATE 2")
	check(journal.Selection{Class: "note"})
	if n, err := journal.Forget(ann, d.Store, d.changes, start.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("Forget: got %d records, %v, want 1", n, err)
	}
	check(journal.Selection{}, "CREATE 1", "UPDATE 1", "UPDATE 2")
}

// TestRecordJSON checks that the format is that of IONDV's change log.
func TestRecordJSON(t *testing.T) {
	d := open(t)
	d.write(t, engine.WithRequest(t.Context(), &engine.Account{ID: "ann@local", Name: "Ann"}, &engine.Caller{Address: netip.MustParseAddr("::1")}), "1", `"x"`)
	d.write(t, t.Context(), "1", "y")
	want := []string{
		`{"timestamp":"2024-05-01T12:00:00.000Z","type":"CREATE","className":"note@s","classVersion":"2","id":"1","base":null,"data":{"id":"1","title":"\"x\""},"author":"ann@local","authorName":"Ann","authorIp":"::1"}`,
		`{"timestamp":"2024-05-01T12:00:00.000Z","type":"UPDATE","className":"note@s","classVersion":"2","id":"1","base":{"title":"\"x\""},"data":{"title":"y"},"author":null,"authorName":null,"authorIp":null}`,
	}
	var got []string
	err := journal.List(t.Context(), d.Store, d.changes, journal.Selection{}, func(r journal.Record) error {
		got = append(got, string(r.AppendJSON(nil)))
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
