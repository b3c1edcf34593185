package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine/script/limits"
	"restsrv/engine/watch"
)

// checkoutFiles is the number of files that differ between the two branches of a checkout.
const checkoutFiles = 500

// TestCheckouts checks out two versions of 500 files alternately. Each answer carries the versions of two modules, which
// must be equal, and no request may fail.
func TestCheckouts(t *testing.T) {
	checkouts := 5
	if os.Getenv("RESTSRV_LONG") != "" {
		checkouts = 50
	}
	a := newApp(t, limits.Limits{}, false)
	git := newWorkingTree(t, a.dir)
	f := newFleet(t, a)
	if err := f.m.Add(f.named("both", "first.js")); err != nil {
		t.Fatal(err)
	}
	w, err := watch.New(watch.Config{Dir: a.dir, Changed: f.m.Reload})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Follow(f.m.Files())

	stop := make(chan struct{})
	var clients sync.WaitGroup
	var mixed atomic.Int64
	for range 2 {
		clients.Go(func() {
			for !isClosed(stop) {
				if got := f.get("both"); !slices.Contains([]string{jsonType + `[1,1]`, jsonType + `[2,2]`}, got) {
					if mixed.Add(1) == 1 {
						t.Errorf("answer %s, want two equal versions", got)
					}
				}
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	var delays []time.Duration
	for n := range checkouts {
		version := 2 - n%2
		git("checkout", "-q", fmt.Sprint("v", version))
		done, want := time.Now(), fmt.Sprintf("%s[%d,%d]", jsonType, version, version)
		for f.get("both") != want {
			if time.Since(done) > 20*time.Second {
				t.Fatalf("version %d is not used 20 s after the checkout: %s", version, f.get("both"))
			}
			time.Sleep(time.Millisecond)
		}
		delays = append(delays, time.Since(done))
	}
	close(stop)
	clients.Wait()
	slices.Sort(delays)
	t.Logf("%d checkouts of %d files: %d wrong answers, live after %v (median), %v (longest)", checkouts, checkoutFiles, mixed.Load(), delays[len(delays)/2], delays[len(delays)-1])
}

// newWorkingTree makes a folder a working tree of git with the branches v1 and v2, and checks out v1. The modules
// first.js and last.js are the first and the last file that git writes. The result runs git in the folder.
func newWorkingTree(t *testing.T, dir string) func(args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("init", "-q")
	for version := 1; version <= 2; version++ {
		for i := range checkoutFiles {
			text := fmt.Sprintf("module.exports = %d;\n%s", version, strings.Repeat("// a script of some length\n", 40))
			if i == 0 {
				text = fmt.Sprintf("const last = require('./lib/f%03d');\nconst own = %d;\nmodule.exports = {'GET /': () => [own, last]};\n", checkoutFiles-1, version)
				writeFile(t, filepath.Join(dir, "first.js"), text)
				continue
			}
			writeFile(t, filepath.Join(dir, "lib", fmt.Sprintf("f%03d.js", i)), text)
		}
		git("checkout", "-q", "-b", fmt.Sprint("v", version))
		git("add", ".")
		git("commit", "-q", "-m", fmt.Sprint("version ", version))
	}
	git("checkout", "-q", "v1")
	return git
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// isClosed reports whether a channel is closed.
func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
