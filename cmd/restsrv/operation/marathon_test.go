package operation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

// TestReloadMarathon saves the scripts of 50 services 1,000 times under constant load. 30 % of the
// saved scripts are broken.
func TestReloadMarathon(t *testing.T) {
	apptest.RequireLong(t)
	(&marathon{services: 40, typed: 10, saves: 1000, endless: 3}).run(t)
}

// TestReloads is a short TestReloadMarathon.
func TestReloads(t *testing.T) {
	(&marathon{services: 4, typed: 1, saves: 40}).run(t)
}

// marathon is a server whose scripts are saved again and again while clients call all services. No
// request may fail, each correct version must be used, and old versions must not leave memory or
// goroutines behind.
type marathon struct {
	services, typed int // numbers of services in JavaScript and in TypeScript
	saves, endless  int // number of saves, and number of them that loop forever
	t               *testing.T
	c               *apptest.Case
	random          *rand.Rand

	versions []int
	lib      int
	requests atomic.Int64
	waits    map[string][]time.Duration // time from a save to the first answer, by the kind of the file
	told     int                        // number of failures that the log must contain
}

func (m *marathon) run(t *testing.T) {
	m.t, m.waits = t, map[string][]time.Duration{}
	m.random = rand.New(rand.NewPCG(1, 2))
	m.c = apptest.NewOpenCase(t, "")
	defer m.c.StopServer()
	defer http.DefaultClient.CloseIdleConnections()
	var di, modes []string
	for i := range m.count() {
		m.versions = append(m.versions, 0)
		m.put(m.file(i), m.source(i))
		di = append(di, fmt.Sprintf(`"s%d": {"module": %q}`, i, m.file(i)))
		modes = append(modes, fmt.Sprintf(`"s%d": "none"`, i))
	}
	m.put("lib/version.js", "module.exports = 0;")
	m.put("lib/text.js", "const version = require('./version');\nexports.describe = (service, v) => ({service, version: v, lib: version});")
	m.put("deploy.json", fmt.Sprintf(`{"modules": {"rest": {"globals": {"di": {%s}, "authMode": {%s}}}}}`, strings.Join(di, ", "), strings.Join(modes, ", ")))
	m.c.StartServer("-watch")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { m.load(ctx) })
	}
	settled, goroutines := int64(0), 0
	for n := range m.saves {
		if n == m.saves/5 {
			settled, goroutines = heapInUse(), runtime.NumGoroutine()
		}
		if t.Failed() {
			break
		}
		m.save(n)
	}
	stop()
	wg.Wait()
	m.judge(settled, goroutines)
}

func (m *marathon) count() int { return m.services + m.typed }

func (m *marathon) file(i int) string {
	if i < m.services {
		return fmt.Sprintf("scripts/s%d.js", i)
	}
	return fmt.Sprintf("scripts/s%d.ts", i)
}

// source returns the script of a service. It uses libraries that all services share.
func (m *marathon) source(i int) string {
	if i < m.services {
		return fmt.Sprintf(`const {describe} = require('../lib/text');
const timer = setInterval(() => 0, 1000);
module.exports = {'GET /': async () => { await null; return describe('s%d', %d); }};
%s`, i, m.versions[i], strings.Repeat("// a script of some length\n", 50))
	}
	return fmt.Sprintf(`import {describe} from '../lib/text';
interface Answer { service: string; version: number; lib: number }
const answer = async (): Promise<Answer> => describe('s%d', %d);
export default {'GET /': answer};
%s`, i, m.versions[i], strings.Repeat("// a script of some length\n", 50))
}

// broken returns a script that cannot be loaded, or that loops forever.
func (m *marathon) broken(n int) (text string, endless bool) {
	switch {
	case m.endless > 0 && n%(m.saves/m.endless) == 0:
		return "for (;;) {}", true
	case n%3 == 0:
		return "throw new Error('not today');", false
	case n%3 == 1:
		return "module.exports = {'GET /': async ( => 1};", false
	}
	return "module.exports = require('./nowhere');", false
}

// put saves a file directly, or writes a temporary file and renames it.
func (m *marathon) put(name, text string) {
	m.t.Helper()
	if m.random.IntN(2) == 0 || !m.c.Running() {
		m.c.WriteFile(name, text)
		return
	}
	apptest.WriteFile(m.t, filepath.Join(m.c.Dir, name), text)
}

// save saves one file and waits until the server uses it.
func (m *marathon) save(n int) {
	m.t.Helper()
	i := m.random.IntN(m.count())
	switch {
	case n%10 < 3:
		text, endless := m.broken(n)
		told := m.failures(i)
		m.put(m.file(i), text)
		if m.told++; !endless && n%10 != 2 {
			return // save the next version immediately
		}
		m.c.Wait("the failure is told", func() error {
			if m.failures(i) == told {
				return errors.New("it is not")
			}
			return nil
		})
		if endless { // correct the script afterwards
			m.saveGood(i)
		}
	case n%25 == 24:
		m.lib++
		m.put("lib/version.js", fmt.Sprintf("module.exports = %d;", m.lib))
		m.wait("library", func(int) bool { return true })
	default:
		m.saveGood(i)
	}
}

func (m *marathon) saveGood(i int) {
	m.t.Helper()
	m.versions[i]++
	m.put(m.file(i), m.source(i))
	kind := "JavaScript"
	if i >= m.services {
		kind = "TypeScript"
	}
	m.wait(kind, func(at int) bool { return at == i })
}

// failures returns the number of failures of a service in the log.
func (m *marathon) failures(i int) int {
	failed := regexp.MustCompile(fmt.Sprintf(`\bs%d(, s\d+)* failed, the last good version keeps answering`, i))
	return len(failed.FindAllString(m.c.Output.String(), -1))
}

// wait waits until the affected services give the expected answer. It records the time of the
// slowest service.
func (m *marathon) wait(what string, concerned func(i int) bool) {
	m.t.Helper()
	began := time.Now()
	for i := range m.count() {
		if !concerned(i) || what == "library" && m.isBroken(i) {
			continue
		}
		want := m.answer(i)
		for {
			got, err := m.ask(i)
			if err == nil && got == want {
				break
			}
			if time.Since(began) > apptest.Timeout {
				m.t.Fatalf("service %d answers %s, %v, not %s:\n%s", i, got, err, want, m.c.Output.String())
			}
			time.Sleep(time.Millisecond)
		}
	}
	m.waits[what] = append(m.waits[what], time.Since(began))
}

// isBroken reports whether the file of a service is broken now. Then the service keeps its last
// good version, with the libraries of that version.
func (m *marathon) isBroken(i int) bool {
	text, err := os.ReadFile(filepath.Join(m.c.Dir, m.file(i)))
	return err != nil || string(text) != m.source(i)
}

func (m *marathon) answer(i int) string {
	return fmt.Sprintf(`{"service":"s%d","version":%d,"lib":%d}`, i, m.versions[i], m.lib)
}

func (m *marathon) ask(i int) (string, error) {
	status, text, err := (&visitor{c: m.c}).ask("GET", fmt.Sprintf("/rest/s%d", i), "", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	return text, err
}

// load calls all services in turn.
func (m *marathon) load(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i = (i + 1) % m.count() {
		text, err := m.ask(i)
		if err != nil || !strings.HasPrefix(text, fmt.Sprintf(`{"service":"s%d",`, i)) {
			m.t.Errorf("service %d: got %q, %v, want its own response", i, text, err)
			return
		}
		m.requests.Add(1)
		time.Sleep(time.Millisecond)
	}
}

// The maximum time from saving a file until the server uses it, for 99 of 100 saves on a machine
// without other work. A busy machine gets patience times as much.
const (
	saveToServing   = 60 * time.Millisecond
	saveToServingTS = 90 * time.Millisecond
	busyMachine     = 5
)

func (m *marathon) judge(settled int64, goroutines int) {
	m.t.Helper()
	after := heapInUse()
	var told []string
	for _, what := range []string{"JavaScript", "TypeScript", "library"} {
		waits := m.waits[what]
		if len(waits) == 0 {
			continue
		}
		slices.Sort(waits)
		p99 := waits[len(waits)*99/100]
		told = append(told, fmt.Sprintf("%s (%d) p50 %v p99 %v max %v", what, len(waits), waits[len(waits)/2].Round(time.Millisecond/10), p99.Round(time.Millisecond/10), waits[len(waits)-1].Round(time.Millisecond/10)))
		most := map[string]time.Duration{"JavaScript": saveToServing, "TypeScript": saveToServingTS}[what]
		if most > 0 && p99 > busyMachine*most && !apptest.RaceDetector {
			m.t.Errorf("%s: the 99th percentile from save to serving is %v, want at most %v", what, p99, busyMachine*most)
		}
	}
	m.t.Logf("%d saves, %d of them broken, %d services, %d requests, none failed: %v; save to serving: %s; heap %d KiB after a fifth, %d KiB at the end; %d goroutines, %d at the end",
		m.saves, m.told, m.count(), m.requests.Load(), !m.t.Failed(), strings.Join(told, ", "), settled>>10, after>>10, goroutines, runtime.NumGoroutine())
	if grown := after - settled; grown > 3<<20 {
		m.t.Errorf("the heap grew by %d KiB, want at most 3 MiB", grown>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines+3 {
		m.t.Errorf("got %d goroutines, want about %d as before", n, goroutines)
	}
	if n := strings.Count(m.c.Output.String(), "the last good version keeps answering"); n == 0 {
		m.t.Error("got no failed reload in the log, want some")
	}
}
