package file_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
)

// noClasses is an application without classes.
type noClasses struct{}

func (noClasses) Class(name string) (*engine.Class, error) { return nil, engine.NoClass(name) }
func (noClasses) Classes() []*engine.Class                 { return nil }

// open is a storage beside a real database.
func open(t *testing.T, c *clock) (s *file.Storage, db engine.Repository, class *engine.Class, dir string) {
	t.Helper()
	ctx := context.Background()
	class = file.Class()
	conn, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := store.Open(ctx, conn, store.Config{Classes: []*engine.Class{class}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := data.Close(); err != nil {
			t.Error(err)
		}
	})
	dir = filepath.Join(t.TempDir(), "files")
	return file.New(file.Config{Dir: dir, Data: data, Class: class, Now: c.time}), data, class, dir
}

// hold makes the row that the store makes when an item is given the file.
func hold(t *testing.T, db engine.Repository, class *engine.Class, f engine.StoredFile) {
	t.Helper()
	v := engine.NewValues(class)
	for name, value := range map[string]any{"id": f.ID, "hash": f.Hash, "name": f.Name, "mimeType": f.MimeType, "size": f.Size,
		"class": "note@sample", "item": "n1", "attribute": "photo"} {
		v[class.Property(name).Index] = value
	}
	if _, err := db.Create(context.Background(), class, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func orphans(t *testing.T, s *file.Storage) (all []file.Orphan) {
	t.Helper()
	err := s.Orphans(context.Background(), noClasses{}, func(o file.Orphan) error {
		all = append(all, o)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOrphans holds that content that nothing names for an hour is found and
// removed, and what is named or young stays.
func TestOrphans(t *testing.T) {
	c := &clock{now: time.Now()}
	s, db, class, dir := open(t, c)
	if got := orphans(t, s); len(got) != 0 {
		t.Errorf("without a directory: %v", got)
	}
	held, lost := put(t, s, "held"), put(t, s, "lost")
	hold(t, db, class, held)
	broken := filepath.Join(dir, "incoming", "broken")
	if err := os.WriteFile(broken, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := orphans(t, s); len(got) != 0 {
		t.Errorf("young content is an orphan: %v", got)
	}
	c.now = c.now.Add(file.Grace + time.Minute)
	young := put(t, s, "young")
	got := orphans(t, s)
	if len(got) != 2 || got[0].Hash != lost.Hash || got[0].Size != 4 || got[1].Path == "" || got[1].Size != 4 {
		t.Fatalf("got %+v", got)
	}
	for _, o := range got {
		if err := s.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	}
	if read(t, s, held) != "held" || read(t, s, young) != "young" {
		t.Error("content is lost")
	}
	if left := files(t, dir); len(left) != 2 {
		t.Errorf("the directory holds %v", left)
	}
}

// TestOrphanComesBack holds that an orphan that is uploaded again before it is
// removed stays.
func TestOrphanComesBack(t *testing.T) {
	c := &clock{now: time.Now()}
	s, _, _, _ := open(t, c)
	f := put(t, s, "tea")
	c.now = c.now.Add(2 * file.Grace)
	got := orphans(t, s)
	if len(got) != 1 {
		t.Fatalf("got %+v", got)
	}
	put(t, s, "tea")
	if err := s.Remove(context.Background(), got[0]); err != nil {
		t.Fatal(err)
	}
	if read(t, s, f) != "tea" {
		t.Error("content is lost")
	}
}

// TestRemovalBrokeOff holds that content whose removal was cut off is back in
// its place.
func TestRemovalBrokeOff(t *testing.T) {
	c := &clock{now: time.Now()}
	s, _, _, dir := open(t, c)
	f := put(t, s, "tea")
	if err := os.MkdirAll(filepath.Join(dir, "leaving"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "objects", f.Hash[:2], f.Hash[2:]), filepath.Join(dir, "leaving", f.Hash)); err != nil {
		t.Fatal(err)
	}
	orphans(t, s)
	if read(t, s, f) != "tea" {
		t.Error("content is lost")
	}
}

// TestFind holds that a file is found by its id with the item that holds it.
func TestFind(t *testing.T) {
	s, db, class, _ := open(t, &clock{now: time.Now()})
	f := put(t, s, "tea")
	if _, err := s.Find(context.Background(), f.ID); engine.CodeOf(err) != engine.NotFound {
		t.Errorf("a file that nothing holds: %v", err)
	}
	hold(t, db, class, f)
	got, err := s.Find(context.Background(), f.ID)
	if err != nil || got.StoredFile != f || got.Class != "note@sample" || got.Item != "n1" || got.Attribute != "photo" {
		t.Errorf("got %+v, %v", got, err)
	}
}
