package consistency

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// TestPowerCut simulates power cuts of a server with SQLite. strace records the system calls of
// the server. After a cut, the simulated disk contains only the data that certainly survive, or
// also a random part of the other data. In both cases, all writes that were answered before the
// cut must be there. With "synchronous": "normal" some writes are missing, which shows that the
// test can find lost writes.
func TestPowerCut(t *testing.T) {
	cuts, writes := 6, 15
	if os.Getenv("RESTSRV_LONG") != "" {
		cuts, writes = 60, 150
	}
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		p := newPowerCut(t, "full", writes)
		p.replay(cuts)
		t.Logf("%d answered writes, the power cut %d times after one: all that was answered by then is there", p.answered, p.cuts)
		for _, fault := range p.faults {
			t.Error(fault)
		}
	})
	t.Run("normal", func(t *testing.T) {
		t.Parallel()
		p := newPowerCut(t, "normal", 5)
		if p.replay(5); len(p.faults) == 0 {
			t.Errorf("got no loss in %d power cuts although fsync is not called for each commit: the test proves nothing", p.cuts)
		}
	})
}

// TestFlushFails checks that the server refuses writes while fsync fails, and that all answered
// writes are there after a restart. A refused write may have taken effect, with its files, but
// only if its answer says so. In the first case fsync fails for all files, in the second case
// only for the write-ahead log. In the second case, uploads are stored although their commit
// fails.
func TestFlushFails(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]struct{ only, from string }{
		"all files":       {"", "300"},
		"write-ahead log": {"restsrv.db-wal", "100"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range loadFailing(t, "fsync,fdatasync:error=EIO:when="+file.from+"+", file.only) {
				page := strings.Contains(w.refusal, "<html") // an answer of workflows, which contains no reason
				if w.whole > 0 && !page && !strings.Contains(w.refusal, "whether it did is not known") {
					t.Errorf("got the response %s for a write that is stored, want one that does not exclude it", w.refusal)
				}
			}
		})
	}
}

// TestDiskFull simulates a full disk. Rejected writes must have no effect, and their answers must
// not say that they may have one.
func TestDiskFull(t *testing.T) {
	for _, w := range loadFailing(t, "pwrite64:error=ENOSPC:when=1000+", "") {
		if w.whole > 0 || strings.Contains(w.refusal, "whether it did is not known") {
			t.Errorf("got %d stored objects of a write with the response %s, want none and a definite refusal", w.whole, w.refusal)
		}
	}
}

// loadFailing sends writes to a server in which some system calls fail after a while, until each
// writer has got a refusal. After a restart it checks the database. If only is not "", calls fail
// only for the file with this name in the folder of the server.
func loadFailing(t *testing.T, fault, only string) []*writer {
	withStrace(t)
	c := newLoad(t)
	calls, _, _ := strings.Cut(fault, ":")
	strace := []string{"strace", "-D", "-f", "--seccomp-bpf", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + fault}
	if only != "" {
		strace = append(strace, "-P", filepath.Join(c.dir, only))
	}
	c.server = apptest.LaunchBy(t, c.dir, strace)
	c.server.Await(t)
	c.signIn()
	var writing sync.WaitGroup
	for _, w := range c.writers {
		writing.Go(func() { c.load(w) })
	}
	writing.Wait()
	c.killServer()
	c.startServer()
	c.check()
	answered, whole, none := 0, 0, 0
	for _, w := range c.writers {
		answered, whole, none = answered+w.answered, whole+w.whole, none+w.none
	}
	t.Logf("%d writes answered, all of them there; %d refused: %d there as a whole, %d not at all", answered, whole+none, whole, none)
	if answered < 50 || whole+none == 0 {
		t.Error("got too few writes or refusals: the test proves nothing")
	}
	return c.writers
}

// withStrace skips the test if strace does not work.
func withStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("no strace that works, nothing tells what reaches the disk: %v %s", err, out)
	}
}

// powerCut holds a trace of a server under load, and the models of the writers at the current
// moment of the trace.
type powerCut struct {
	*crash
	trace    string
	sent     [][]*mutation // by writer
	at       []int         // number of these with an answer so far
	models   []*model      // models at this moment
	disk     *disk
	answered int
	cuts     int
	faults   []string
}

// newPowerCut records a trace of a server while each writer makes the given number of writes.
func newPowerCut(t *testing.T, synchronous string, writes int) *powerCut {
	withStrace(t)
	p := &powerCut{crash: newLoad(t), trace: filepath.Join(t.TempDir(), "trace"), disk: &disk{root: folder()}}
	deploy := strings.Replace(crashApp, "{", `{"globals": {"db": {"url": "sqlite:restsrv.db", "synchronous": "`+synchronous+`"}},`, 1)
	apptest.WriteFile(t, filepath.Join(p.dir, "deploy.json"), deploy)
	p.server = apptest.LaunchBy(t, p.dir, []string{"strace", "-D", "-f", "--seccomp-bpf", "-y", "-x", "-s", "10000000", "-e", "trace=" + traced, "-o", p.trace})
	p.server.Await(t)
	p.signIn()
	p.sent = make([][]*mutation, len(p.writers))
	var writing sync.WaitGroup
	for i, w := range p.writers {
		writing.Go(func() {
			for range writes {
				x, _ := w.next()
				if status, text, err := p.send(x); status != 200 || strings.Contains(text, `"workflow.`) {
					t.Errorf("%s %s: got %d %s, %v, want 200", x.method, x.path, status, text, err)
					return
				}
				w.done(x)
				p.sent[i] = append(p.sent[i], x)
			}
		})
	}
	writing.Wait()
	p.server.Stop(t) // the trace is complete when the server and strace have ended
	for _, w := range p.writers {
		p.models, p.at = append(p.models, &model{name: w.name, items: state{}}), append(p.at, 0)
	}
	return p
}

var answeredRequest = regexp.MustCompile(`^HTTP/1\.1 200 (?s:.*)\r\nX-Request-Id: (w\d+-\d+)\r\n`)

// replay follows the trace and cuts the power after some of the answers, including the last
// answer.
func (p *powerCut) replay(cuts int) {
	p.Helper()
	all := 0
	for _, sent := range p.sent {
		all += len(sent)
	}
	trace, err := os.Open(p.trace)
	if err != nil {
		p.Fatal(err)
	}
	defer trace.Close()
	err = replayTrace(trace, p.dir, p.disk, func(text string) {
		if m := answeredRequest.FindStringSubmatch(text); m != nil && p.advance(m[1]) && (p.answered == all || rand.IntN(all) < cuts) {
			p.cut()
		}
	})
	if err != nil {
		p.Fatal(err)
	}
	if p.answered != all {
		p.Fatalf("trace: got %d responses, want %d: %v", p.answered, all, p.at)
	}
}

// advance updates the models after an answer. It returns false if the answer is not for a write.
func (p *powerCut) advance(id string) bool {
	for i, sent := range p.sent {
		if p.at[i] < len(sent) && sent[p.at[i]].id == id {
			p.models[i].done(sent[p.at[i]])
			p.at[i]++
			p.answered++
			return true
		}
	}
	return false
}

// cut checks the data on the current disk, twice.
func (p *powerCut) cut() {
	p.Helper()
	p.cuts++
	for _, kept := range []func(int) int{
		func(int) int { return 0 },
		func(n int) int { return rand.IntN(n + 1) },
	} {
		left := &crash{T: p.T, dir: p.TempDir()}
		p.disk.cut(p.T, left.dir, kept)
		deploy, err := os.ReadFile(filepath.Join(p.dir, "deploy.json"))
		if err != nil {
			p.Fatal(err)
		}
		apptest.WriteFile(p.T, filepath.Join(left.dir, "deploy.json"), string(deploy))
		var models []*model
		for i, m := range p.models {
			now := &model{name: m.name, items: maps.Clone(m.items)}
			if p.at[i] < len(p.sent[i]) {
				now.pending = p.sent[i][p.at[i]]
			}
			models = append(models, now)
		}
		p.faults = append(p.faults, left.compare(models)...)
	}
}
