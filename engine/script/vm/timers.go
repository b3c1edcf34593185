package vm

import (
	"slices"
	"sync"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
)

// timers contains the timers of one VM.
type timers struct {
	vm   *VM
	mu   sync.Mutex
	last int64 // id of the last timer
	live map[int64]liveTimer
	off  bool // the VM accepts no more timers
	left allowance
}

// allowance limits the CPU time that the timers of one VM use after their calls have ended. The available time grows
// by a tenth of the time that passes, up to leftBurst. If a timer fires when no time is available, it waits. Without
// this limit, an interval that a request has left behind could use a processor forever.
type allowance struct {
	used  time.Duration // CPU time that was used, minus the time that has become available again
	since time.Time     // time at which used was computed
}

const (
	leftBurst = time.Second // maximum of the available CPU time
	leftPart  = 10          // the available time grows by 1/leftPart of the time that passes
)

// waitFor returns how long a timer must wait until CPU time is available.
func (a *allowance) waitFor(now time.Time) time.Duration {
	a.used = max(0, a.used-now.Sub(a.since)/leftPart)
	a.since = now
	return max(0, a.used-leftBurst) * leftPart
}

// liveTimer is a timer that has not fired yet.
type liveTimer struct {
	clock *time.Timer // nil for setImmediate
	call  *Call       // the call that started the timer, nil if there is none
}

const (
	MinDelay = time.Millisecond // shorter delays are extended to this
	maxDelay = 1<<31 - 1        // milliseconds; longer delays fire at once, as in Node.js
)

// InstallTimers defines setTimeout and the other global functions for timers.
func (h *VM) InstallTimers() {
	t := &h.Timers
	global := h.JS.GlobalObject()
	start := func(name string, repeat, immediate bool) {
		h.Method(global, name, func(call goja.FunctionCall) goja.Value {
			f, ok := goja.AssertFunction(call.Argument(0))
			if !ok {
				panic(h.JS.NewTypeError(name + " takes a function"))
			}
			first := 2
			delay := time.Duration(0)
			if immediate {
				first = 1
			} else {
				delay = delayOf(call.Argument(1))
			}
			var args []goja.Value
			if len(call.Arguments) > first {
				args = slices.Clone(call.Arguments[first:]) // copied, because the arguments are on the stack of the VM
			}
			id := t.Start(&Timer{F: f, args: args, Call: h.Call, tx: h.Scope, Delay: delay, repeat: repeat})
			if id == 0 {
				panic(h.NewError(name+": the service has too many timers", "too-many-timers"))
			}
			return h.JS.ToValue(id)
		})
	}
	start("setTimeout", false, false)
	start("setInterval", true, false)
	start("setImmediate", false, true)
	clear := func(call goja.FunctionCall) goja.Value {
		if v := call.Argument(0); goja.IsNumber(v) {
			t.Stop(v.ToInteger())
		}
		return goja.Undefined()
	}
	for _, name := range []string{"clearTimeout", "clearInterval", "clearImmediate"} {
		h.Method(global, name, clear)
	}
	h.Method(global, "queueMicrotask", func(call goja.FunctionCall) goja.Value {
		if _, ok := goja.AssertFunction(call.Argument(0)); !ok {
			panic(h.JS.NewTypeError("queueMicrotask takes a function"))
		}
		p, err := h.Resolve(h.Promise, goja.Undefined())
		js.Must(err)
		_, err = h.ThenFn(p, call.Argument(0))
		js.Must(err)
		return goja.Undefined()
	})
}

func delayOf(v goja.Value) time.Duration {
	ms := v.ToFloat()
	if !(ms >= 1 && ms <= maxDelay) {
		return MinDelay
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// Timer is a function that will be called later, in the asynchronous context in which the timer was created.
type Timer struct {
	id     int64
	F      goja.Callable
	args   []goja.Value
	Call   *Call
	tx     *Scope
	store  any // set by Start
	Delay  time.Duration
	repeat bool
}

// Start starts a timer and returns its id. It returns 0 if the VM has too many timers. It must be called inside a turn.
func (t *timers) Start(m *Timer) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.off || len(t.live) >= t.vm.Service.Limits.Timers && !t.makeRoom() {
		return 0
	}
	if t.live == nil {
		t.live = map[int64]liveTimer{}
	}
	t.last++
	m.id, m.store = t.last, t.vm.Store
	if m.Delay == 0 {
		t.live[m.id] = liveTimer{nil, m.Call}
		go t.vm.Do(Task{m.Call, func() error { return t.fire(m) }}, true)
		return m.id
	}
	t.live[m.id] = liveTimer{time.AfterFunc(m.Delay, func() {
		t.vm.Do(Task{m.Call, func() error { return t.fire(m) }}, true)
	}), m.Call}
	return m.id
}

// makeRoom removes the timers of calls that have ended, for example a timeout that lost a Promise.race. Otherwise
// such timers of many requests could use up the limit. It reports whether there is room for another timer. The caller
// must hold t.mu.
func (t *timers) makeRoom() bool {
	dropped := false
	for id, l := range t.live {
		if l.call != nil && l.call.Over.Load() {
			t.drop(id)
			dropped = true
		}
	}
	if dropped {
		t.vm.Service.Warn("too many timers: removing those that ended requests have left behind; clear timers that are no longer needed", "limit", t.vm.Service.Limits.Timers)
	}
	return dropped
}

// drop stops and removes a timer. The caller must hold t.mu.
func (t *timers) drop(id int64) {
	if l := t.live[id]; l.clock != nil {
		l.clock.Stop()
	}
	delete(t.live, id)
}

// fire calls the function of a timer. It runs as a turn.
func (t *timers) fire(m *Timer) error {
	t.mu.Lock()
	running, ok := t.live[m.id]
	left := ok && m.Call != nil && m.Call.Over.Load()
	if left && t.postpone(m) {
		t.mu.Unlock()
		return nil
	}
	switch {
	case !ok:
		t.mu.Unlock()
		return nil
	case m.repeat:
		running.clock.Reset(m.Delay)
	default:
		delete(t.live, m.id)
	}
	t.mu.Unlock()
	v := t.vm
	v.Scope, v.Store = m.tx, m.store
	began := time.Now()
	_, err := m.F(goja.Undefined(), m.args...)
	if left {
		t.mu.Lock()
		t.left.used += time.Since(began)
		t.mu.Unlock()
	}
	if err == nil || IsUncatchable(err) {
		return err
	}
	log := v.Service.Log
	if m.Call != nil {
		log = log.With("request", m.Call.Req.ID)
	}
	log.Error("the function of a timer failed", v.Service.FailureArgs(v.DescribeError(err))...)
	return nil
}

// postpone makes a timer fire again later if no CPU time is available for timers of calls that have ended. It returns
// false if the timer may run now. The caller must hold t.mu.
func (t *timers) postpone(m *Timer) bool {
	wait := t.left.waitFor(time.Now())
	if wait <= 0 {
		return false
	}
	t.vm.Service.Warn("timers that ended requests have left behind are slowed down to a tenth of a core; clear timers that are no longer needed", "request", m.Call.Req.ID)
	t.live[m.id] = liveTimer{time.AfterFunc(wait, func() {
		t.vm.Do(Task{m.Call, func() error { return t.fire(m) }}, true)
	}), m.Call}
	return true
}

func (t *timers) Stop(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(id)
}

func (t *timers) stopAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.off = true
	for id := range t.live {
		t.drop(id)
	}
}
