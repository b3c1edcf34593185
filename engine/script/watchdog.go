package script

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
)

const (
	watchTick  = 5 * time.Millisecond
	idleTicks  = 200              // ticks without a turn after which the watchdog sleeps
	reapPeriod = 15 * time.Second // how often idle VMs are looked for
	// maxCharge bounds what one look charges a turn, so that a process that
	// was frozen does not find its scripts guilty.
	maxCharge = 50 * time.Millisecond
)

// errCPU is the reason of an interrupt.
type errCPU struct{ limit time.Duration }

func (e errCPU) Error() string {
	return "the script used more than " + e.limit.String() + " of CPU in one turn"
}

// clock measures the current turn of one VM.
type clock struct {
	mu      sync.Mutex
	running bool
	seen    bool // by the watchdog, in this turn
	hit     bool // interrupted
	used    time.Duration
	limit   time.Duration
	start   time.Time
}

func (k *clock) begin(limit time.Duration) {
	now := time.Now()
	k.mu.Lock()
	k.running, k.seen, k.hit, k.used, k.limit, k.start = true, false, false, 0, limit, now
	k.mu.Unlock()
}

// end reports whether the turn was interrupted, or should have been. After it
// no interrupt of this turn can come any more.
func (k *clock) end() bool {
	late := k.expired()
	k.mu.Lock()
	k.running = false
	k.mu.Unlock()
	return late
}

// expired reports whether the turn is over its limit, even if the watchdog has
// not seen it yet. A turn that is must have no effect any more: a regular
// expression in it may have given up and told "no match".
func (k *clock) expired() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hit || time.Since(k.start) >= k.limit
}

// charge adds time to a running turn and interrupts it over its limit. It
// reports whether a turn is running.
func (k *clock) charge(js *goja.Runtime, d time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.running {
		return false
	}
	if k.seen {
		k.used += min(d, maxCharge)
	}
	k.seen = true
	if k.used >= k.limit && !k.hit {
		k.hit = true
		js.Interrupt(errCPU{k.limit})
	}
	return true
}

// watchdog looks at all VMs every tick. It sleeps while no script runs.
type watchdog struct {
	mu      sync.Mutex
	vms     map[*vm]struct{}
	parked  atomic.Bool
	wake    chan struct{}
	stop    chan struct{}
	once    sync.Once
	stopped chan struct{}
}

func newWatchdog() *watchdog {
	return &watchdog{
		vms:  map[*vm]struct{}{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

func (w *watchdog) add(v *vm) {
	w.mu.Lock()
	w.vms[v] = struct{}{}
	w.mu.Unlock()
}

func (w *watchdog) remove(v *vm) {
	w.mu.Lock()
	delete(w.vms, v)
	w.mu.Unlock()
}

// started is called after a turn has begun.
func (w *watchdog) started() {
	if w.parked.Load() {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// run watches until close; reap is called now and then.
func (w *watchdog) run(reap func()) {
	defer close(w.stopped)
	ticker := time.NewTicker(watchTick)
	defer ticker.Stop()
	last, reaped, idle := time.Now(), time.Now(), 0
	for {
		now := time.Now()
		if w.look(now.Sub(last)) {
			idle = 0
		} else {
			idle++
		}
		last = now
		if now.Sub(reaped) >= reapPeriod {
			reaped = now
			reap()
		}
		if idle < idleTicks {
			select {
			case <-ticker.C:
				continue
			case <-w.stop:
				return
			}
		}
		if !w.park(ticker) {
			return
		}
		last, idle = time.Now(), 0
	}
}

// park waits until a turn begins or something may have to be reaped; false
// ends the watchdog.
func (w *watchdog) park(ticker *time.Ticker) bool {
	w.parked.Store(true)
	defer w.parked.Store(false)
	if w.look(0) { // a turn that began before it could see parked
		return true
	}
	ticker.Stop()
	defer ticker.Reset(watchTick)
	timer := time.NewTimer(reapPeriod)
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-w.stop:
		return false
	}
	return true
}

// look charges all VMs and reports whether one of them runs a turn.
func (w *watchdog) look(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	running := false
	for v := range w.vms {
		if v.clock.charge(v.js, d) {
			running = true
		}
	}
	return running
}

func (w *watchdog) close() {
	w.once.Do(func() { close(w.stop) })
	<-w.stopped
}
