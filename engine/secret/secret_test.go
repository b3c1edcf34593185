package secret_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"

	"restsrv/engine/secret"
	"restsrv/engine/store/dbtest"
)

// TestKey checks that a key is created only once, even with concurrent callers and when the
// database is opened again, and that different names have different keys.
func TestKey(t *testing.T) {
	ctx, class, path := context.Background(), secret.Class(), filepath.Join(t.TempDir(), "test.db")
	s := dbtest.File(path).Open(t, class)
	keys := make([][]byte, 20)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = secret.Key(ctx, s, class, "cursor"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != secret.Size || !bytes.Equal(k, keys[0]) {
			t.Fatalf("concurrent callers: got %x and %x, want the same key", k, keys[0])
		}
	}
	if other, err := secret.Key(ctx, s, class, "other"); err != nil || bytes.Equal(other, keys[0]) {
		t.Errorf("another name: got %x, %v, want another key", other, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = dbtest.File(path).Open(t, class)
	defer s.Close()
	if again, err := secret.Key(ctx, s, class, "cursor"); err != nil || !bytes.Equal(again, keys[0]) {
		t.Errorf("after a restart: got %x, %v, want the same key", again, err)
	}
}
