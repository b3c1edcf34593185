package script

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// fleet is a Manager with the responses of its services and its reports.
type fleet struct {
	*app
	m       *Manager
	mu      sync.Mutex
	at      map[string]service.Service
	reports []Report
}

func newFleet(t *testing.T, a *app) *fleet {
	f := &fleet{app: a, at: map[string]service.Service{}}
	f.m = NewManager(a.rt, func(name string, s service.Service) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.at[name] = s
		return nil
	})
	f.m.OnReload(func(r Report) { f.reports = append(f.reports, r) })
	t.Cleanup(f.m.Close)
	return f
}

func (f *fleet) named(name, file string) Service {
	s := f.service(file)
	s.Name = name
	return s
}

func (f *fleet) get(name string) string {
	f.t.Helper()
	f.mu.Lock()
	s := f.at[name]
	f.mu.Unlock()
	return get(f.t, s)
}

func (f *fleet) reload(names ...string) Report {
	var paths []string
	for _, n := range names {
		paths = append(paths, filepath.Join(f.dir, n))
	}
	f.m.Reload(paths)
	return f.reports[len(f.reports)-1]
}

// TestReloadOfLibrary checks that a change of a library loads exactly the
// services that use it, with one report.
func TestReloadOfLibrary(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("lib.js", "module.exports = 1")
	f.write("alone.js", "module.exports = {'GET /': () => 0}")
	services := []Service{f.named("alone", "alone.js")}
	var names []string
	for i := range 50 {
		name := fmt.Sprintf("s%02d", i)
		f.write(name+".js", "const lib = require('./lib'); module.exports = {'GET /': () => lib}")
		services, names = append(services, f.named(name, name+".js")), append(names, name)
	}
	if err := f.m.Add(services...); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.m.Names(), append([]string{"alone"}, names...)) {
		t.Errorf("names: %v", f.m.Names())
	}
	f.write("lib.js", "module.exports = 2")
	r := f.reload("lib.js")
	if len(f.reports) != 1 || !reflect.DeepEqual(r.Loaded, names) || len(r.Failed) != 0 || r.Took <= 0 || len(r.Changed) != 1 {
		t.Errorf("reported %+v", f.reports)
	}
	for _, name := range names {
		expect(t, f.get(name), jsonType+"2")
	}
	if r := f.reload("other.js"); !r.Idle() {
		t.Errorf("reported %+v", r)
	}
}

func TestReportOfFailure(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("a.js", "module.exports = {'GET /': () => 'a'}")
	f.write("b.js", "module.exports = {'GET /': () => 'b'}")
	if err := f.m.Add(f.named("a", "a.js"), f.named("b", "b.js")); err != nil {
		t.Fatal(err)
	}
	f.write("a.js", "module.exports = {'GET /': () => 'new'}")
	f.write("b.js", "\nmodule.exports = {'GET /': ( => 'b'}")
	r := f.reload("a.js", "b.js")
	if e := r.Failed["b"]; !reflect.DeepEqual(r.Loaded, []string{"a"}) || len(r.Failed) != 1 || e == nil || e.File != "b.js" || e.Line != 2 {
		t.Errorf("reported %+v", r)
	}
	expect(t, f.get("a"), jsonType+`"new"`)
	expect(t, f.get("b"), jsonType+`"b"`)
}

// TestEndlessLoadHoldsUpNobody checks that a script whose load does not end
// delays no other service, in the same reload and in the next one.
func TestEndlessLoadHoldsUpNobody(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{Load: 1500 * time.Millisecond}, false))
	f.write("a.js", "module.exports = {'GET /': () => 'a'}")
	f.write("b.js", "module.exports = {'GET /': () => 'b'}")
	if err := f.m.Add(f.named("a", "a.js"), f.named("b", "b.js")); err != nil {
		t.Fatal(err)
	}
	f.write("a.js", "for (;;) {}")
	f.write("b.js", "module.exports = {'GET /': () => 'b2'}")
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.m.Reload(nil)
	}()
	eventually(t, "the other one answers", func() bool { return f.get("b") == jsonType+`"b2"` })
	f.write("b.js", "module.exports = {'GET /': () => 'b3'}")
	f.m.Reload([]string{filepath.Join(f.dir, "b.js")})
	expect(t, f.get("b"), jsonType+`"b3"`)
	expect(t, f.get("a"), jsonType+`"a"`)
	if len(f.m.Faults()) != 0 {
		t.Error("the endless script has ended too early")
	}
	<-done
	if len(f.m.Faults()) != 1 {
		t.Errorf("faults: %v", f.m.Faults())
	}
}

// TestFileChangesWhileLoading checks that a failure caused by a file that was
// being written is not reported.
func TestFileChangesWhileLoading(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("flag.js", "module.exports = 'good'")
	f.write("a.js", "const flag = require('./flag'); for (const end = Date.now() + 200; Date.now() < end;); if (flag !== 'good') throw new Error(flag); module.exports = {'GET /': () => flag}")
	if err := f.m.Add(f.named("a", "a.js")); err != nil {
		t.Fatal(err)
	}
	f.write("flag.js", "module.exports = 'half'")
	timer := time.AfterFunc(80*time.Millisecond, func() { f.write("flag.js", "module.exports = 'good'") })
	defer timer.Stop()
	if r := f.reload("flag.js"); len(r.Failed) != 0 {
		t.Errorf("reported %+v", r)
	}
	if strings.Contains(f.log.String(), "cannot be loaded") {
		t.Error("a failure is reported, want none")
	}
}

// TestHalfWrittenFile checks that a file that is incomplete when it is loaded
// is loaded again without a report.
func TestHalfWrittenFile(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("a.js", "module.exports = {'GET /': () => 1}")
	if err := f.m.Add(f.named("a", "a.js")); err != nil {
		t.Fatal(err)
	}
	f.write("a.js", "module.exports = {'GET /': ")
	timer := time.AfterFunc(20*time.Millisecond, func() { f.write("a.js", "module.exports = {'GET /': () => 2}") })
	defer timer.Stop()
	if r := f.reload("a.js"); len(r.Failed) != 0 || strings.Contains(f.log.String(), "cannot be loaded") {
		t.Errorf("reported %+v", r)
	}
	expect(t, f.get("a"), jsonType+"2")
}

// TestNewFileChangesWhileLoading checks the case that only the new version
// reads the file that changes during the load.
func TestNewFileChangesWhileLoading(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("a.js", "module.exports = {'GET /': () => 0}")
	if err := f.m.Add(f.named("a", "a.js")); err != nil {
		t.Fatal(err)
	}
	f.write("new.js", "module.exports = 1")
	f.write("a.js", "const n = require('./new'); for (const end = Date.now() + 200; Date.now() < end;); module.exports = {'GET /': () => n}")
	changed := make(chan struct{})
	time.AfterFunc(80*time.Millisecond, func() {
		f.write("new.js", "module.exports = 2")
		f.m.Reload([]string{filepath.Join(f.dir, "new.js")})
		close(changed)
	})
	f.m.Reload([]string{filepath.Join(f.dir, "a.js")})
	<-changed
	expect(t, f.get("a"), jsonType+"2")
}

// TestManagerFollows checks that the last good version of one Manager is used
// by the next, with other options, while the files are broken.
func TestManagerFollows(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("lib.js", "module.exports = 'last good'")
	f.write("a.js", "const lib = require('./lib'); if (options.no) throw new Error('no'); module.exports = {'GET /': () => lib + ' ' + options.name}")
	one := f.named("a", "a.js")
	one.Options = service.Options{"name": "one"}
	if err := f.m.Add(one); err != nil {
		t.Fatal(err)
	}
	f.write("lib.js", "module.exports = (")
	next := newFleet(t, f.app)
	next.m.Follow(f.m)
	two := one
	two.Options = service.Options{"name": "two"}
	if err := next.m.Add(two); err == nil {
		t.Error("the broken file is not reported")
	}
	expect(t, next.get("a"), jsonType+`"last good two"`)
	expect(t, f.get("a"), jsonType+`"last good one"`)
	if err := next.m.Lost(); err != nil || len(next.m.Faults()) != 1 {
		t.Errorf("lost %v, faults %v", err, next.m.Faults())
	}
	f.write("lib.js", "module.exports = 'mended'")
	next.reload("lib.js")
	expect(t, next.get("a"), jsonType+`"mended two"`)

	f.write("lib.js", "module.exports = (")
	last := newFleet(t, f.app)
	last.m.Follow(next.m)
	three := one
	three.Options = service.Options{"no": true}
	_ = last.m.Add(three)
	if err := last.m.Lost(); err == nil || !strings.Contains(err.Error(), "service a: ") {
		t.Errorf("lost %v", err)
	}
}

// TestOldVersionDrains checks that an old version finishes its requests within
// the time limit of a request, and that its timers and VMs are released
// afterwards.
func TestOldVersionDrains(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{Wall: 400 * time.Millisecond}, false))
	f.write("a.js", `setInterval(() => console.log('old one ticks'), 10);
module.exports = {'GET /': () => new Promise(ok => setTimeout(ok, 150, 'finished')), 'PUT /': () => new Promise(() => 0)}`)
	if err := f.m.Add(f.named("a", "a.js")); err != nil {
		t.Fatal(err)
	}
	old := f.at["a"]
	var wg sync.WaitGroup
	wg.Go(func() { expect(t, get(t, old), jsonType+`"finished"`) })
	wg.Go(func() {
		expect(t, answer(send(t, old, request{method: "PUT"})), "error timeout service a did not answer in time")
	})
	eventually(t, "both have begun", func() bool {
		return f.rt.Metrics()["a"].InFlight == 2
	})
	f.write("a.js", "module.exports = {'GET /': () => 'new'}")
	f.reload("a.js")
	expect(t, f.get("a"), jsonType+`"new"`)
	wg.Wait()
	eventually(t, "only the new version has a machine", func() bool { return f.rt.dog.Count() == 1 })
	n := strings.Count(f.log.String(), "old one ticks")
	time.Sleep(60 * time.Millisecond)
	if m := strings.Count(f.log.String(), "old one ticks"); n == 0 || m != n {
		t.Errorf("the old version ticked %d times, and %d times after its end", n, m-n)
	}
}

// TestRemovedFiles checks that a removed file is treated like a broken one, and
// that a folder that is moved away stands for its files.
func TestRemovedFiles(t *testing.T) {
	f := newFleet(t, newApp(t, limits.Limits{}, false))
	f.write("lib/x.js", "module.exports = 1")
	f.write("a.js", "const x = require('./lib/x'); module.exports = {'GET /': () => x}")
	if err := f.m.Add(f.named("a", "a.js")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(f.dir, "lib"), filepath.Join(f.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if r := f.reload("lib", "gone"); len(r.Failed) != 1 {
		t.Errorf("reported %+v", r)
	}
	expect(t, f.get("a"), jsonType+"1")
	f.write("lib/x.js", "module.exports = 2")
	f.reload("lib")
	expect(t, f.get("a"), jsonType+"2")
}
