package script

import (
	"slices"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// timers contains the timers of one VM.
type timers struct {
	vm   *vm
	mu   sync.Mutex
	last int64
	live map[int64]liveTimer
	off  bool
}

// liveTimer is a timer that has not fired yet.
type liveTimer struct {
	clock *time.Timer // nil for setImmediate
	call  *call       // the call that started the timer, nil if there is none
}

const (
	minDelay = time.Millisecond
	maxDelay = 1<<31 - 1 // milliseconds; longer delays fire at once, as in Node.js
)

func (h *vm) installTimers() {
	t := &h.timers
	global := h.js.GlobalObject()
	start := func(name string, repeat, immediate bool) {
		h.method(global, name, func(call goja.FunctionCall) goja.Value {
			f, ok := goja.AssertFunction(call.Argument(0))
			if !ok {
				panic(h.js.NewTypeError(name + " takes a function"))
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
			id := t.start(&timer{f: f, args: args, call: h.cur, tx: h.tx, delay: delay, repeat: repeat})
			if id == 0 {
				panic(h.newError(name+": the service has too many timers", "too-many-timers"))
			}
			return h.js.ToValue(id)
		})
	}
	start("setTimeout", false, false)
	start("setInterval", true, false)
	start("setImmediate", false, true)
	clear := func(call goja.FunctionCall) goja.Value {
		if v := call.Argument(0); goja.IsNumber(v) {
			t.stop(v.ToInteger())
		}
		return goja.Undefined()
	}
	for _, name := range []string{"clearTimeout", "clearInterval", "clearImmediate"} {
		h.method(global, name, clear)
	}
	h.method(global, "queueMicrotask", func(call goja.FunctionCall) goja.Value {
		if _, ok := goja.AssertFunction(call.Argument(0)); !ok {
			panic(h.js.NewTypeError("queueMicrotask takes a function"))
		}
		p, err := h.resolve(h.promise, goja.Undefined())
		must(err)
		_, err = h.thenFn(p, call.Argument(0))
		must(err)
		return goja.Undefined()
	})
}

func delayOf(v goja.Value) time.Duration {
	ms := v.ToFloat()
	if !(ms >= 1 && ms <= maxDelay) {
		return minDelay
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// timer is a function to call later in the asynchronous context of its
// creation.
type timer struct {
	id     int64
	f      goja.Callable
	args   []goja.Value
	call   *call
	tx     *scope
	delay  time.Duration
	repeat bool
}

// start starts a timer and returns its id, or 0 if there are too many timers.
func (t *timers) start(m *timer) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.off || len(t.live) >= t.vm.service.limits.Timers && !t.makeRoom() {
		return 0
	}
	if t.live == nil {
		t.live = map[int64]liveTimer{}
	}
	t.last++
	m.id = t.last
	if m.delay == 0 {
		t.live[m.id] = liveTimer{nil, m.call}
		go t.vm.do(task{m.call, func() error { return t.fire(m) }}, true)
		return m.id
	}
	t.live[m.id] = liveTimer{time.AfterFunc(m.delay, func() {
		t.vm.do(task{m.call, func() error { return t.fire(m) }}, true)
	}), m.call}
	return m.id
}

// makeRoom removes the timers of calls that have ended, such as the timeout
// that lost a Promise.race. Otherwise, many requests in sequence could use up
// the limit for the next one. The caller must hold t.mu.
func (t *timers) makeRoom() bool {
	dropped := false
	for id, l := range t.live {
		if l.call != nil && l.call.over.Load() {
			t.drop(id)
			dropped = true
		}
	}
	if dropped {
		t.vm.service.warn("too many timers: removing those that ended requests have left behind; clear timers that are no longer needed", "limit", t.vm.service.limits.Timers)
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

// fire is the turn of a timer.
func (t *timers) fire(m *timer) error {
	t.mu.Lock()
	running, ok := t.live[m.id]
	switch {
	case !ok:
		t.mu.Unlock()
		return nil
	case m.repeat:
		running.clock.Reset(m.delay)
	default:
		delete(t.live, m.id)
	}
	t.mu.Unlock()
	v := t.vm
	v.tx = m.tx
	_, err := m.f(goja.Undefined(), m.args...)
	if err == nil || isUncatchable(err) {
		return err
	}
	log := v.service.log
	if m.call != nil {
		log = log.With("request", m.call.req.ID)
	}
	log.Error("the function of a timer failed", v.service.failureArgs(v.describeError(err))...)
	return nil
}

func (t *timers) stop(id int64) {
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
