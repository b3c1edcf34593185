package file_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// server stands for a process: it has its own storage and its own store.
type server struct {
	*file.Storage
	data  *store.Store
	notes *engine.Class
}

// serve opens the database and the folder as another process would.
func serve(t *testing.T, db dbtest.DB, dir string, now func() time.Time) *server {
	t.Helper()
	s := &server{notes: note(t)}
	class := file.Class()
	s.data = db.OpenWith(t, store.Config{Classes: []*engine.Class{s.notes, class}, FileClass: class,
		Unheld: func(hashes []string) { s.Unheld(hashes) }})
	s.Storage = file.New(file.Config{Dir: dir, Data: s.data, Class: class, Now: now})
	t.Cleanup(s.Wait) // before the folder and the database are removed
	return s
}

// request runs work as a request, with a Staging that ends after it.
func request(work func(ctx context.Context) error) error {
	ctx, staging := engine.WithStaging(context.Background())
	defer staging.End()
	return work(ctx)
}

// create stores a content and an item that holds it. If fail is set, it stores
// no item.
func (s *server) create(id, content string, fail bool) error {
	return request(func(ctx context.Context) error {
		f, err := s.Put(ctx, "a.txt", "text/plain", strings.NewReader(content))
		if err != nil || fail {
			return err
		}
		_, err = s.data.Create(ctx, s.notes, engine.Values{id, f.JSON()}, engine.WriteOptions{})
		return err
	})
}

func wantFiles(t *testing.T, what, dir string, want int) {
	t.Helper()
	if got := files(t, filepath.Join(dir, "objects")); len(got) != want {
		t.Errorf("%s: got %d contents %v, want %d", what, len(got), got, want)
	}
}

// TestContentsFollowItems checks that a content is removed in these cases, and stays otherwise:
//
//   - its request fails
//   - the attribute is set to another file or to null
//   - the last item that holds the content is deleted
func TestContentsFollowItems(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		dir := filepath.Join(t.TempDir(), "files")
		ctx, s := context.Background(), serve(t, db, dir, nil)
		step := func(what string, want int, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(what, err)
			}
			s.Wait()
			wantFiles(t, what, dir, want)
		}
		step("a create", 1, s.create("n1", "tea", false))
		step("a failed create of the same content", 1, s.create("n2", "tea", true))
		step("a failed create", 1, s.create("n2", "milk", true))
		step("another holder", 1, s.create("n2", "tea", false))
		step("a holder is deleted", 1, s.data.Delete(ctx, s.notes, "n1", nil))
		step("its file is replaced", 1, request(func(ctx context.Context) error {
			f, err := s.Put(ctx, "", "", strings.NewReader("water"))
			if err == nil {
				_, err = s.data.Update(ctx, s.notes, "n2", engine.Values{engine.Absent, f.JSON()}, engine.WriteOptions{})
			}
			return err
		}))
		_, err := s.data.Update(ctx, s.notes, "n2", engine.Values{engine.Absent, nil}, engine.WriteOptions{})
		step("its file is set to null", 0, err)
		step("the first of two", 1, s.create("n3", "one", false))
		step("the second of two", 2, s.create("n4", "two", false))
		_, err = s.data.DeleteAll(ctx, &engine.Query{Class: s.notes, Count: -1})
		step("a bulk deletion", 0, err)
		step("a create before a transaction", 1, s.create("n5", "five", false))
		undone := errors.New("undone")
		err = s.data.Transaction(ctx, func(ctx context.Context) error {
			if err := s.data.Delete(ctx, s.notes, "n5", nil); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		step("a transaction that was undone", 1, nil)
		step("a transaction", 0, s.data.Transaction(ctx, func(ctx context.Context) error { return s.data.Delete(ctx, s.notes, "n5", nil) }))
		if left := files(t, dir); len(left) != 0 {
			t.Errorf("the folder has %v, want no files", left)
		}
	})
}

// TestHeldWhileCopied checks a request that is about to refer to a stored file: the content stays
// even if the item that held it is deleted during the request.
func TestHeldWhileCopied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	ctx, s := context.Background(), serve(t, dbtest.New(t), dir, nil)
	if err := s.create("n1", "tea", false); err != nil {
		t.Fatal(err)
	}
	it, err := s.data.Get(ctx, s.notes, "n1")
	if err != nil {
		t.Fatal(err)
	}
	f := engine.FilesIn(it.Get("photo"))[0]
	remove := func() {
		if err := s.data.Delete(ctx, s.notes, "n1", nil); err != nil {
			t.Fatal(err)
		}
		s.Wait()
	}
	err = request(func(ctx context.Context) error {
		if err := s.Hold(ctx, f); err != nil {
			return err
		}
		remove()
		wantFiles(t, "while it is copied", dir, 1)
		_, err := s.data.Create(ctx, s.notes, engine.Values{"n2", s.Copy(f).JSON()}, engine.WriteOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "the copy", dir, 1)
	if err := s.Hold(ctx, f); engine.CodeOf(err) != engine.NotFound || err == nil {
		t.Errorf("Hold of a file that no item holds: got %v, want NotFound", err)
	}
	if err := s.data.Delete(ctx, s.notes, "n2", nil); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	wantFiles(t, "nothing holds it", dir, 0)
}

// TestConcurrentContents uploads and deletes three contents at random from two processes. Some of
// the requests fail. In the end, the content of each item can be read, and there is no other
// content.
func TestConcurrentContents(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		dir := filepath.Join(t.TempDir(), "files")
		servers := []*server{serve(t, db, dir, nil), serve(t, db, dir, nil)}
		var wg sync.WaitGroup
		for w := range 8 {
			s, random := servers[w%2], rand.New(rand.NewPCG(7, uint64(w)))
			wg.Go(func() {
				ctx := context.Background()
				for i := range 60 {
					id := fmt.Sprint(w, "-", i)
					if err := s.create(id, fmt.Sprint("content ", random.IntN(3)), random.IntN(2) == 0); err != nil {
						t.Error(err)
					}
					if old := fmt.Sprint(w, "-", random.IntN(i+1)); random.IntN(3) > 0 {
						if err := s.data.Delete(ctx, s.notes, old, nil); err != nil && engine.CodeOf(err) != engine.NotFound {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		for _, s := range servers {
			s.Wait()
		}
		held := map[string]bool{}
		err := servers[0].data.List(context.Background(), &engine.Query{Class: servers[0].notes, Count: -1}, func(it *engine.Item) error {
			for _, f := range engine.FilesIn(it.Get("photo")) {
				held[f.Hash] = true
				if got := read(t, servers[0].Storage, f); !strings.HasPrefix(got, "content ") {
					t.Errorf("%s: got %q", it.ID, got)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, "in the end", dir, len(held))
	})
}

// TestSweep checks that the contents and partial uploads of a crashed process are removed after
// an hour. A content stays if an item holds it.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	c := &clock{now: time.Now()}
	s := serve(t, dbtest.New(t), dir, c.time)
	ctx := context.Background()
	lost, kept := put(t, s.Storage, "lost"), put(t, s.Storage, "kept") // without a request, so they are not released
	if _, err := s.data.Create(ctx, s.notes, engine.Values{"n1", kept.JSON()}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "incoming", "part")
	if err := os.WriteFile(part, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "at once", dir, 2)
	c.now = c.now.Add(file.Grace + time.Minute)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); len(left) != 1 || read(t, s.Storage, kept) != "kept" {
		t.Errorf("an hour later the folder has %v, want the content of n1 only, not %s", left, lost.Hash)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "staged")); err != nil || len(left) > 0 {
		t.Errorf("the folder staged has %v, %v, want no files", left, err)
	}
}

// TestUnsettledCommit checks a request that does not know whether its commit succeeded. Its
// content stays for an hour, even if another request with the same content fails. Then the
// content is removed, except if an item holds it.
func TestUnsettledCommit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	c := &clock{now: time.Now()}
	s := serve(t, dbtest.New(t), dir, c.time)
	ctx := context.Background()
	unsettled := func(content string) (f engine.StoredFile) {
		err := request(func(ctx context.Context) (err error) {
			f, err = s.Put(ctx, "a.txt", "text/plain", strings.NewReader(content))
			engine.StagingFrom(ctx).Unsettle()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	unsettled("undone")
	kept := unsettled("committed")
	if err := s.create("n1", "committed", true); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "at once", dir, 2)
	if _, err := s.data.Create(ctx, s.notes, engine.Values{"n1", kept.JSON()}, engine.WriteOptions{}); err != nil { // the commit turns out to have succeeded
		t.Fatal(err)
	}
	c.now = c.now.Add(file.Grace + time.Minute)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "an hour later", dir, 1)
	if got := read(t, s.Storage, kept); got != "committed" {
		t.Errorf("got content %q, want that of n1", got)
	}
}

// TestPause checks that Pause prevents the removal of contents, and that a later Sweep removes
// them.
func TestPause(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	c := &clock{now: time.Now()}
	s := serve(t, dbtest.New(t), dir, c.time)
	ctx := context.Background()
	if err := s.create("n1", "tea", false); err != nil {
		t.Fatal(err)
	}
	resume, err := s.Pause()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.data.Delete(ctx, s.notes, "n1", nil); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	wantFiles(t, "paused", dir, 1)
	resume()
	c.now = c.now.Add(file.Grace + time.Minute)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "swept", dir, 0)

	hash := strings.Repeat("0a", 32)
	content := filepath.Join(dir, "objects", hash[:2], hash[2:])
	if err := errors.Join(os.MkdirAll(filepath.Dir(content), 0o700), os.WriteFile(content, []byte("tea"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(2 * file.Grace)
	if resume, err = s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, file.Orphan{Hash: hash}); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "an orphan while removal is paused", dir, 1)
	resume()
	if err := s.Remove(ctx, file.Orphan{Hash: hash}); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "an orphan that is removed", dir, 0)
}
