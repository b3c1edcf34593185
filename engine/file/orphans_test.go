package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
)

// application is an application with the class note@sample, which has a file attribute.
type application struct{ note *engine.Class }

func (a application) Class(name string) (*engine.Class, error) {
	if name != a.note.FullName {
		return nil, engine.NoClass(name)
	}
	return a.note, nil
}

func (a application) Classes() []*engine.Class { return []*engine.Class{a.note} }

// note is the class of the application.
func note(t *testing.T) *engine.Class {
	t.Helper()
	c := &engine.Class{Name: "note", Namespace: "sample", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.String}, {Name: "photo", Type: engine.File, Nullable: true, OrderNumber: 1}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	return c
}

// open returns a storage with a real database.
func open(t *testing.T, c *clock) (s *file.Storage, db engine.Repository, class *engine.Class, dir string) {
	t.Helper()
	s, db, class, _, dir = openWith(t, c)
	return s, db, class, dir
}

func openWith(t *testing.T, c *clock) (s *file.Storage, db engine.Repository, class, notes *engine.Class, dir string) {
	t.Helper()
	class, notes = file.Class(), note(t)
	data := dbtest.New(t).OpenWith(t, store.Config{Classes: []*engine.Class{notes, class}, FileClass: class})
	dir = filepath.Join(t.TempDir(), "files")
	return file.New(file.Config{Dir: dir, Data: data, Class: class, Now: c.time}), data, class, notes, dir
}

// hold creates a row like those that the store creates for the items of a
// class.
func hold(t *testing.T, db engine.Repository, class *engine.Class, f engine.StoredFile) {
	t.Helper()
	v := engine.NewValues(class)
	for name, value := range map[string]any{"id": f.ID, "hash": f.Hash, "name": f.Name, "mimeType": f.MimeType, "size": f.Size,
		"class": "gone@sample", "item": "n1", "attribute": "photo"} {
		v[class.Property(name).Index] = value
	}
	if _, err := db.Create(context.Background(), class, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// orphans calls Orphans for an application in which every item holds its files.
func orphans(t *testing.T, s *file.Storage) []file.Orphan {
	t.Helper()
	return orphansOf(t, s, file.Holders{Meta: application{note(t)}})
}

func orphansOf(t *testing.T, s *file.Storage, holders file.Holders) (all []file.Orphan) {
	t.Helper()
	err := s.Orphans(context.Background(), holders, func(o file.Orphan) error {
		all = append(all, o)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOrphans checks that a content is found and removed if no row has contained its hash for an
// hour, and that other contents stay.
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
		t.Error("content is missing")
	}
	if left := files(t, dir); len(left) != 2 {
		t.Errorf("the directory holds %v", left)
	}
}

// TestOrphanComesBack checks that an orphan stays if it is uploaded again
// before it is removed.
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
		t.Error("content is missing")
	}
}

// TestRemovalBrokeOff checks that content can be read after an interrupted
// removal, and that Orphans restores it.
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
	if read(t, s, f) != "tea" {
		t.Error("content is missing")
	}
	orphans(t, s)
	if left := files(t, dir); len(left) != 1 || !strings.HasPrefix(left[0], "objects/") || read(t, s, f) != "tea" {
		t.Errorf("the directory holds %v", left)
	}
}

// TestFind checks that a file is found by its id, with the item that holds it.
func TestFind(t *testing.T) {
	s, db, class, _ := open(t, &clock{now: time.Now()})
	f := put(t, s, "tea")
	if _, err := s.Find(context.Background(), f.ID); engine.CodeOf(err) != engine.NotFound {
		t.Errorf("a file without an item: got %v", err)
	}
	hold(t, db, class, f)
	got, err := s.Find(context.Background(), f.ID)
	if err != nil || got.StoredFile != f || got.Class != "gone@sample" || got.Item != "n1" || got.Attribute != "photo" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestStaleRows checks that a row is an orphan if its item does not hold the file, and that
// removing the row releases the content. If the item holds the file again before the removal, the
// row stays.
func TestStaleRows(t *testing.T) {
	ctx, c := context.Background(), &clock{now: time.Now()}
	s, db, class, notes, _ := openWith(t, c)
	create := func(id string, f engine.StoredFile) {
		t.Helper()
		if _, err := db.Create(ctx, notes, engine.Values{id, f.JSON()}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kept, stale, missing := put(t, s, "kept"), put(t, s, "stale"), put(t, s, "missing")
	create("n1", kept)
	row := func(f engine.StoredFile, item string) {
		t.Helper()
		v := engine.NewValues(class)
		for name, value := range map[string]any{"id": f.ID, "hash": f.Hash, "size": f.Size, "class": "note@sample", "item": item, "attribute": "photo"} {
			v[class.Property(name).Index] = value
		}
		if _, err := db.Create(ctx, class, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	row(stale, "n1")
	row(missing, "n2")
	found := orphansOf(t, s, file.Holders{Meta: application{notes}, Data: db})
	if len(found) != 2 {
		t.Fatalf("got %+v", found)
	}
	create("n2", missing) // the item is created after Orphans has found the row
	for _, o := range found {
		if err := s.Remove(ctx, o); err != nil {
			t.Error(err)
		}
	}
	for f, want := range map[engine.StoredFile]engine.Code{kept: 0, missing: 0, stale: engine.NotFound} {
		_, err := s.Find(ctx, f.ID)
		if (want == 0) != (err == nil) || err != nil && engine.CodeOf(err) != want {
			t.Errorf("%s: %v", f.ID, err)
		}
	}
	if found := orphansOf(t, s, file.Holders{Meta: application{notes}, Data: db}); len(found) != 0 {
		t.Errorf("still there: %+v", found)
	}
}
