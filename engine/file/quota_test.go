package file_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
)

// TestBytesOfFiles checks the limits for the files of one account and of all accounts. Stored
// files, files of unfinished requests and running uploads count. Deleting objects makes room
// again.
func TestBytesOfFiles(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		class, notes, clock := file.Class(), note(t), dbtest.NewClock()
		var log bytes.Buffer
		var s *file.Storage
		data := db.OpenWith(t, store.Config{Classes: []*engine.Class{notes, class}, FileClass: class, Unheld: func(hashes []string) { s.Unheld(hashes) }})
		s = file.New(file.Config{Dir: t.TempDir(), Data: data, Class: class, Now: clock.Now, Limits: file.Limits{PerAccount: 100_000, All: 150_000},
			Log: slog.New(slog.NewTextHandler(&log, nil))})
		t.Cleanup(s.Wait) // before the folder and the database are removed
		as := func(account string) context.Context {
			return engine.WithAccount(context.Background(), &engine.Account{ID: account})
		}
		put := func(account, id string, size int) error {
			ctx, staging := engine.WithStaging(as(account))
			defer staging.End()
			f, err := s.Put(ctx, "a.txt", "text/plain", strings.NewReader(strings.Repeat(id[:1], size)))
			if err != nil {
				return err
			}
			_, err = data.Create(ctx, notes, engine.Values{id, f.JSON()}, engine.WriteOptions{})
			return err
		}
		check := func(what string, err error, want engine.Code, reason string) {
			t.Helper()
			e, ok := err.(*engine.Error)
			if reason == "" && err != nil || reason != "" && (!ok || e.Code != want || e.Reason != reason) {
				t.Errorf("%s: got %v, want reason %q", what, err, reason)
			}
		}
		check("the first file", put("ann", "a1", 60_000), 0, "")
		check("one too large for what is left", put("ann", "b1", 60_000), engine.TooLarge, "files-account")
		check("a smaller one", put("ann", "c1", 20_000), 0, "")
		check("of another account", put("bob", "d1", 40_000), 0, "")
		check("too much of all", put("bob", "e1", 40_000), engine.Unavailable, "files-all")
		clock.Advance(time.Minute) // the usage is read again
		check("too much of all, later", put("bob", "f1", 40_000), engine.Unavailable, "files-all")
		if err := data.Delete(as("ann"), notes, "a1", nil); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		check("after a deletion", put("ann", "g1", 60_000), 0, "")
		if got := strings.Count(log.String(), "setting=fileBytes"); got != 2 {
			t.Errorf("got %d warnings, want one a minute:\n%s", got, &log)
		}
	})
}

// TestUploadsUnderWay checks that concurrent uploads together have the same limit as sequential
// uploads, and that a failed upload releases its bytes.
func TestUploadsUnderWay(t *testing.T) {
	class := file.Class()
	data := dbtest.New(t).Open(t, class)
	s := file.New(file.Config{Dir: t.TempDir(), Data: data, Class: class, Limits: file.Limits{PerAccount: 100_000}})
	for range 2 { // a failed upload takes no room
		var uploads sync.WaitGroup
		var mu sync.Mutex
		held, most, refused := 0, 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			held += n
			most = max(most, held)
		}
		for i := range 20 {
			uploads.Go(func() {
				ctx, staging := engine.WithStaging(engine.WithAccount(t.Context(), &engine.Account{ID: "ann"}))
				defer staging.End()
				sent := &slowly{size: 50_000, letter: byte('a' + i), count: count}
				_, err := s.Put(ctx, "a", "text/plain", sent)
				count(-sent.read)
				mu.Lock()
				defer mu.Unlock()
				if e, ok := err.(*engine.Error); ok && e.Reason == "files-account" {
					refused++
				} else if e == nil || e.Reason != "body" {
					t.Errorf("got %v, want an upload that is refused or broken off", err)
				}
			})
		}
		uploads.Wait()
		if most > 200_000 || refused == 0 { // of 1,000,000; refused uploads count a little longer
			t.Errorf("got %d bytes at the same time and %d refusals, want about 100,000 bytes at most, and refusals", most, refused)
		}
	}
	ctx, staging := engine.WithStaging(engine.WithAccount(t.Context(), &engine.Account{ID: "ann"}))
	defer staging.End()
	if _, err := s.Put(ctx, "a", "text/plain", strings.NewReader(strings.Repeat("x", 90_000))); err != nil {
		t.Errorf("after the others have failed: got %v, want room", err)
	}
}

// slowly is a content that is sent in pieces and ends with an error.
type slowly struct {
	size, read int
	letter     byte
	count      func(int)
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.read >= s.size {
		time.Sleep(50 * time.Millisecond) // wait until the other uploads have come that far
		return 0, fmt.Errorf("broken off: %w", io.ErrUnexpectedEOF)
	}
	time.Sleep(time.Millisecond)
	n := copy(p, bytes.Repeat([]byte{s.letter}, 1000))
	s.read += n
	s.count(n)
	return n, nil
}
