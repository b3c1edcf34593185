package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCheckout checks which changes of the folder of git make a revision old.
func TestCheckout(t *testing.T) {
	for name, git := range map[string]string{"main working tree": ".git", "linked working tree": "elsewhere/worktrees/one"} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			put := func(name, text string) {
				t.Helper()
				path := filepath.Join(top, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			put(git+"/index", "one")
			if git != ".git" {
				put("app/.git", "gitdir: ../"+git+"\n")
			}
			put("app/scripts/a.js", "1")
			c := NewCheckout(filepath.Join(top, "app", "scripts"))

			r := c.Await()
			if !c.IsCurrent(r) {
				t.Error("a revision is old although git did nothing")
			}
			put(git+"/index.lock", "")
			if c.IsCurrent(r) {
				t.Error("a revision is current while git writes files")
			}
			released := make(chan struct{})
			time.AfterFunc(50*time.Millisecond, func() {
				defer close(released)
				put(git+"/index.lock", "two!")
				if err := os.Rename(filepath.Join(top, git, "index.lock"), filepath.Join(top, git, "index")); err != nil {
					t.Error(err)
				}
			})
			began := time.Now()
			next := c.Await()
			if waited := time.Since(began); waited < 40*time.Millisecond {
				t.Errorf("waited for the lock for %v", waited)
			}
			<-released
			if c.IsCurrent(r) || !c.IsCurrent(next) {
				t.Errorf("after the checkout: old revision %t, new revision %t", c.IsCurrent(r), c.IsCurrent(next))
			}

			put(git+"/index.lock", "")
			crashed := time.Now().Add(-maxLockAge)
			if err := os.Chtimes(filepath.Join(top, git, "index.lock"), crashed, crashed); err != nil {
				t.Fatal(err)
			}
			if began := time.Now(); !c.IsCurrent(c.Await()) || time.Since(began) > maxLockAge/2 {
				t.Error("the lock of a crashed command is not ignored")
			}
		})
	}
	none := NewCheckout(string(filepath.Separator))
	if !none.IsCurrent(none.Await()) {
		t.Error("a folder without git has different revisions")
	}
}
