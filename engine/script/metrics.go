package script

import (
	"errors"
	"math/bits"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// Metrics is what a service did since the process started, and what it does
// now. Reloads do not reset it.
type Metrics struct {
	Requests  map[string]uint64 // by outcome: the names in outcomeNames
	QueueWait Histogram         // from the arrival of a request to the start of its handler
	Turns     Histogram         // how long scripts ran without a pause
	CPU       Histogram         // of a request: the sum of its turns
	Awaits    uint64            // operations that scripts waited for: of the data, fetch, shared ...

	Interrupts map[string]uint64 // turns that were ended, by reason: cpu, memory, stack, panic
	Rejections uint64            // promises that were rejected and that nobody handled

	Reloads       uint64        // that succeeded, the first load included
	FailedReloads uint64        // the last good version went on answering
	LastReload    time.Duration // how long the last one took

	VMs         map[string]int // now, by state: idle, running, loading
	InFlight    int            // requests that have a VM now
	Waiting     int            // requests that wait for a VM now
	Recycled    uint64         // VMs replaced after many requests
	Quarantines uint64         // times the service was left one request a VM
	Exclusive   bool           // one request a VM, now

	RawRows   uint64 // items that were answered without entering JavaScript
	MadeRows  uint64 // items that a script touched
	Shared    int    // entries of the shared store
	SharedUse int    // bytes of the shared store
}

// The buckets of a Histogram: bucket i counts what took at most
// 2^(firstBucket+i) microseconds, the last one all that took longer.
const (
	firstBucket = 4 // 16 microseconds
	bucketCount = 23
)

// Histogram counts durations in fixed buckets.
type Histogram struct {
	Buckets [bucketCount]uint64 // not cumulative
	Sum     time.Duration
}

// Count is how many durations were counted.
func (h Histogram) Count() uint64 {
	n := uint64(0)
	for _, b := range h.Buckets {
		n += b
	}
	return n
}

// BucketBound is the longest duration that bucket i of a Histogram counts; 0
// for the last one, which has no bound.
func BucketBound(i int) time.Duration {
	if i >= bucketCount-1 {
		return 0
	}
	return time.Microsecond << (firstBucket + i)
}

// histogram is a Histogram that is being written.
type histogram struct {
	buckets [bucketCount]atomic.Uint64
	sum     atomic.Int64
}

func (h *histogram) observe(d time.Duration) {
	us := uint64(max(0, d-1) / time.Microsecond)
	h.buckets[min(max(0, bits.Len64(us)-firstBucket), bucketCount-1)].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) snapshot() Histogram {
	s := Histogram{Sum: time.Duration(h.sum.Load())}
	for i := range h.buckets {
		s.Buckets[i] = h.buckets[i].Load()
	}
	return s
}

// How requests end.
const (
	answered  = iota // below 400
	refused          // 400 to 499: by the script or what it called
	failed           // 500
	timedOut         // 504
	busy             // 503: too many waited
	displaced        // 503: its VM went away under it
	outcomes
)

var outcomeNames = [outcomes]string{"ok", "refused", "failed", "timeout", "busy", "displaced"}

// Why turns are ended.
const (
	byCPU = iota
	byMemory
	byStack
	byPanic
	reasons
)

var reasonNames = [reasons]string{"cpu", "memory", "stack", "panic"}

// counters are the metrics of one service, in all its versions.
type counters struct {
	requests   [outcomes]atomic.Uint64
	interrupts [reasons]atomic.Uint64
	queueWait  histogram
	turns      histogram
	cpu        histogram

	awaits, rejections     atomic.Uint64
	rawRows, madeRows      atomic.Uint64
	reloads, failedReloads atomic.Uint64
	lastReload             atomic.Int64
	recycled, quarantines  atomic.Uint64
}

// reloaded counts a load of the service that took so long.
func (c *counters) reloaded(took time.Duration, err error) {
	if err != nil {
		c.failedReloads.Add(1)
	} else {
		c.reloads.Add(1)
	}
	c.lastReload.Store(int64(took))
}

// ended counts a request.
func (c *counters) ended(o outcome, err error) { c.requests[outcomeOf(o, err)].Add(1) }

func outcomeOf(o outcome, err error) int {
	if err == nil {
		err = o.err
	}
	if err == nil {
		switch {
		case o.displaced:
			return displaced
		case o.response == nil || o.response.Status < http.StatusBadRequest:
			return answered
		case o.response.Status < http.StatusInternalServerError:
			return refused
		}
		return failed
	}
	switch engine.CodeOf(err) {
	case engine.Timeout:
		return timedOut
	case engine.Unavailable:
		if o.displaced {
			return displaced
		}
		return busy
	case engine.Internal:
		return failed
	}
	return refused
}

// reasonOf tells why a turn was ended; stopped is what the watchdog said.
func reasonOf(err, stopped error) int {
	var overflow *goja.StackOverflowError
	var memory errMemory
	var stop *goja.InterruptedError
	if stopped == nil && errors.As(err, &stop) {
		stopped, _ = stop.Value().(error)
	}
	switch {
	case errors.As(stopped, &memory):
		return byMemory
	case stopped != nil:
		return byCPU
	case errors.As(err, &overflow):
		return byStack
	}
	return byPanic
}

// tally is what a turn counts for itself; flush adds it to the counters.
type tally struct{ awaits, rejections, rawRows, madeRows uint64 }

func (t *tally) flush(c *counters) {
	if *t == (tally{}) {
		return
	}
	for _, n := range []struct {
		to   *atomic.Uint64
		from uint64
	}{{&c.awaits, t.awaits}, {&c.rejections, t.rejections}, {&c.rawRows, t.rawRows}, {&c.madeRows, t.madeRows}} {
		if n.from > 0 {
			n.to.Add(n.from)
		}
	}
	*t = tally{}
}

// snapshot is the Metrics without what the VMs say.
func (c *counters) snapshot() Metrics {
	m := Metrics{
		Requests: map[string]uint64{}, Interrupts: map[string]uint64{}, VMs: map[string]int{},
		QueueWait: c.queueWait.snapshot(), Turns: c.turns.snapshot(), CPU: c.cpu.snapshot(),
		Awaits: c.awaits.Load(), Rejections: c.rejections.Load(),
		Reloads: c.reloads.Load(), FailedReloads: c.failedReloads.Load(), LastReload: time.Duration(c.lastReload.Load()),
		Recycled: c.recycled.Load(), Quarantines: c.quarantines.Load(),
		RawRows: c.rawRows.Load(), MadeRows: c.madeRows.Load(),
	}
	for i, name := range outcomeNames {
		m.Requests[name] = c.requests[i].Load()
	}
	for i, name := range reasonNames {
		m.Interrupts[name] = c.interrupts[i].Load()
	}
	return m
}

// Forget drops the metrics and the shared store of a service that is gone for
// good.
func (r *Runtime) Forget(name string) { r.registry.forget(name) }

// Metrics returns those of every service that was ever loaded, by name.
func (r *Runtime) Metrics() map[string]Metrics {
	services := r.registry.all()
	all := make(map[string]Metrics, len(services))
	for name, l := range services {
		m := l.counters.snapshot()
		m.Shared, m.SharedUse = l.store.size()
		all[name] = m
	}
	for _, g := range r.registry.list() {
		if m, ok := all[g.name]; ok {
			g.group.report(&m)
			all[g.name] = m
		}
	}
	return all
}

// Metrics returns those of every service, by name.
func (m *Manager) Metrics() map[string]Metrics { return m.rt.Metrics() }

// report adds what the VMs of the group do now.
func (g *group) report(m *Metrics) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.vms {
		state := "idle"
		if v.running.Load() {
			state = "running"
		}
		m.VMs[state]++
	}
	m.VMs["loading"] += g.spawning
	m.InFlight += g.inflight
	m.Waiting += len(g.waiting)
	m.Exclusive = m.Exclusive || g.exclusive
}

// count notes a turn.
func (v *vm) count(c *call, took time.Duration) {
	k := &v.gen.lasting.counters
	k.turns.observe(took)
	v.tally.flush(k)
	if c != nil {
		c.used(took)
	}
}

// used adds the CPU of a turn to its call; the last turn of a call reports it.
func (c *call) used(d time.Duration) {
	c.cpu.Add(int64(d))
	if c.over.Load() {
		c.reportCPU()
	}
}

// reportCPU counts the CPU of a call, once.
func (c *call) reportCPU() {
	if c.reported.CompareAndSwap(false, true) {
		c.gen.lasting.counters.cpu.observe(time.Duration(c.cpu.Load()))
	}
}
