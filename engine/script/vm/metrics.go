package vm

import (
	"errors"
	"math/bits"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// Metrics contains the counters of a service since the process started, and its
// current state. Reloads do not reset it.
type Metrics struct {
	Requests  map[string]uint64 // by outcome: one of outcomeNames
	QueueWait Histogram         // time from the arrival of a request to the start of its handler
	Turns     Histogram         // duration of one turn: time that a script ran without a pause
	CPU       Histogram         // CPU time of a request: the sum of its turns
	Awaits    uint64            // operations that scripts started and waited for: data, fetch, shared ...

	Interrupts map[string]uint64 // turns that were stopped, by reason: cpu, memory, stack, panic
	Rejections uint64            // rejected promises without a handler

	Reloads       uint64        // successful loads, including the first one
	FailedReloads uint64        // failed loads; the last good version stayed active
	LastReload    time.Duration // duration of the last load

	VMs         map[string]int // current number by state: idle, running, loading
	InFlight    int            // current requests that have a VM
	Waiting     int            // current requests that wait for a VM
	Recycled    uint64         // VMs replaced after many requests
	Quarantines uint64         // number of quarantines, in which each VM takes one request at a time
	Exclusive   bool           // each VM takes one request at a time now

	RawRows       uint64 // items written to responses directly, without a JavaScript object
	MadeRows      uint64 // items for which a JavaScript object was made, because a script accessed them
	OpenStreams   int    // streamed answers that are being sent
	Streams       uint64 // streamed answers
	FailedStreams uint64 // streamed answers that failed in the script after they had begun
	StreamBytes   uint64 // bytes of streamed answers that have ended

	OpenWorks   int    // requests whose work goes on, or may go on, after the answer: see req.waitUntil
	Works       uint64 // promises that were passed to req.waitUntil
	FailedWorks uint64 // those that were rejected
	EndedWorks  uint64 // requests whose work was ended at the time limit

	Shared    int // entries of the shared store
	SharedUse int // bytes of the shared store
}

// Bucket i of a Histogram counts durations up to 2^(firstBucket+i) microseconds. The last bucket counts all longer
// durations.
const (
	firstBucket = 4 // 16 microseconds
	bucketCount = 23
)

// Histogram counts durations in fixed buckets.
type Histogram struct {
	Buckets [bucketCount]uint64 // not cumulative
	Sum     time.Duration
}

// Count returns the number of counted durations.
func (h Histogram) Count() uint64 {
	n := uint64(0)
	for _, b := range h.Buckets {
		n += b
	}
	return n
}

// histogram is a Histogram that goroutines can update concurrently.
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

// Outcomes of requests.
const (
	answered  = iota // status below 400
	refused          // status 400 to 499, sent by the script or caused by an operation that it called
	failed           // status 500
	timedOut         // status 504
	busy             // status 503: too many requests waited
	displaced        // status 503: its VM was lost during the request
	outcomes
)

var outcomeNames = [outcomes]string{"ok", "refused", "failed", "timeout", "busy", "displaced"}

// Reasons why turns are stopped.
const (
	byCPU = iota
	byMemory
	byStack
	byPanic
	reasons
)

var reasonNames = [reasons]string{"cpu", "memory", "stack", "panic"}

// Counters contains the metrics of one service for all its versions.
type Counters struct {
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

	Streams Places // streamed answers that are being sent
	Works   Places // requests that use req.waitUntil

	streamsBegun, streamsFailed, streamBytes atomic.Uint64
	worksBegun, worksFailed, worksEnded      atomic.Uint64
}

// CountReload counts a load of the service and records its duration.
func (c *Counters) CountReload(took time.Duration, err error) {
	if err != nil {
		c.failedReloads.Add(1)
	} else {
		c.reloads.Add(1)
	}
	c.lastReload.Store(int64(took))
}

// countRequest counts a request.
func (c *Counters) countRequest(o Outcome, err error) { c.requests[outcomeOf(o, err)].Add(1) }

func outcomeOf(o Outcome, err error) int {
	if err == nil {
		err = o.Err
	}
	if err == nil {
		switch {
		case o.Displaced:
			return displaced
		case o.Response == nil || o.Response.Status < http.StatusBadRequest:
			return answered
		case o.Response.Status < http.StatusInternalServerError:
			return refused
		}
		return failed
	}
	switch engine.CodeOf(err) {
	case engine.Timeout:
		return timedOut
	case engine.Unavailable:
		if o.Displaced {
			return displaced
		}
		return busy
	case engine.Internal:
		return failed
	}
	return refused
}

// reasonOf returns the reason why a turn was stopped, as a constant. stopped is the reason that the watchdog gave, or
// nil.
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

// tally counts events during one turn, without synchronization. flush adds them to the counters.
type tally struct{ Awaits, rejections, RawRows, MadeRows uint64 }

func (t *tally) flush(c *Counters) {
	if *t == (tally{}) {
		return
	}
	for _, n := range []struct {
		to   *atomic.Uint64
		from uint64
	}{{&c.awaits, t.Awaits}, {&c.rejections, t.rejections}, {&c.rawRows, t.RawRows}, {&c.madeRows, t.MadeRows}} {
		if n.from > 0 {
			n.to.Add(n.from)
		}
	}
	*t = tally{}
}

// Snapshot returns the current values of the counters. The state of the VMs is missing; ReportState adds it.
func (c *Counters) Snapshot() Metrics {
	m := Metrics{
		Requests: map[string]uint64{}, Interrupts: map[string]uint64{}, VMs: map[string]int{},
		QueueWait: c.queueWait.snapshot(), Turns: c.turns.snapshot(), CPU: c.cpu.snapshot(),
		Awaits: c.awaits.Load(), Rejections: c.rejections.Load(),
		Reloads: c.reloads.Load(), FailedReloads: c.failedReloads.Load(), LastReload: time.Duration(c.lastReload.Load()),
		Recycled: c.recycled.Load(), Quarantines: c.quarantines.Load(),
		RawRows: c.rawRows.Load(), MadeRows: c.madeRows.Load(),
		OpenStreams: c.Streams.Count(), Streams: c.streamsBegun.Load(), FailedStreams: c.streamsFailed.Load(), StreamBytes: c.streamBytes.Load(),
		OpenWorks: c.Works.Count(), Works: c.worksBegun.Load(), FailedWorks: c.worksFailed.Load(), EndedWorks: c.worksEnded.Load(),
	}
	for i, name := range outcomeNames {
		m.Requests[name] = c.requests[i].Load()
	}
	for i, name := range reasonNames {
		m.Interrupts[name] = c.interrupts[i].Load()
	}
	return m
}

// ReportState adds the current state of the VMs of the group.
func (g *group) ReportState(m *Metrics) {
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

// countTurn records the duration of a turn. c is nil if the turn belongs to no call.
func (v *VM) countTurn(c *Call, took time.Duration) {
	k := v.Service.Counters
	k.turns.observe(took)
	v.Tally.flush(k)
	if c != nil {
		c.addCPU(took)
	}
}

// addCPU adds the time of a turn to the CPU time of its call. If the call is over, addCPU also reports the CPU time,
// because this was the last turn.
func (c *Call) addCPU(d time.Duration) {
	c.cpu.Add(int64(d))
	if c.Over.Load() {
		c.reportCPU()
	}
}

// reportCPU records the CPU time of a call, once.
func (c *Call) reportCPU() {
	if c.reported.CompareAndSwap(false, true) {
		c.Service.Counters.cpu.observe(time.Duration(c.cpu.Load()))
	}
}
