package script

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2/v2"
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
	seen    bool  // by the watchdog, in this turn
	paused  bool  // see pause
	hit     error // why it was interrupted
	used    time.Duration
	limit   time.Duration
	start   time.Time
	looked  time.Time     // when the watchdog last looked, or start
	lag     time.Duration // how late it was at most, in this turn
	matches bool          // the VM may use regular expressions; for good
}

func (k *clock) begin(limit time.Duration) {
	now := time.Now()
	k.mu.Lock()
	k.running, k.seen, k.hit, k.used, k.limit, k.start, k.looked, k.lag = true, false, nil, 0, limit, now, now, 0
	k.mu.Unlock()
}

// end returns how long the turn took and why it was interrupted, or should
// have been; nil when it ended by itself. After it no interrupt of this turn
// can come any more.
func (k *clock) end() (took time.Duration, late error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	late = k.over(now)
	k.running = false
	return now.Sub(k.start), late
}

// mayMatch notes that scripts of the VM use regular expressions.
func (k *clock) mayMatch() {
	k.mu.Lock()
	k.matches = true
	k.mu.Unlock()
}

// expired returns why the turn must end, even if the watchdog has not seen
// that yet. A turn that must end may have no effect any more: a regular
// expression in it may have given up and told "no match".
func (k *clock) expired() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over(time.Now())
}

// over is expired with k.mu held. A regular expression may give up early by as
// much as its clock lags behind, and that lags about as much as the watchdog.
func (k *clock) over(now time.Time) error {
	if k.hit != nil || !k.matches {
		return k.hit
	}
	took, lag := now.Sub(k.start), max(k.lag, now.Sub(k.looked)-watchTick)
	if took >= k.limit || took+lag >= k.limit+regexpSlack {
		return errCPU{k.limit}
	}
	return nil
}

// turnState is what the watchdog saw of a clock.
type turnState struct {
	running, hit bool
	start        time.Time
}

// charge adds time to a running turn and interrupts it over its limit.
func (k *clock) charge(js *goja.Runtime, d time.Duration) turnState {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.running || k.paused {
		return turnState{}
	}
	now := time.Now()
	k.lag, k.looked = max(k.lag, now.Sub(k.looked)-watchTick), now
	if k.seen {
		k.used += min(d, maxCharge)
	}
	k.seen = true
	if k.used >= k.limit && k.hit == nil {
		k.hit = errCPU{k.limit}
		js.Interrupt(k.hit)
	}
	return turnState{running: true, hit: k.hit != nil, start: k.start}
}

// interrupt ends the turn that began at start, if it still runs.
func (k *clock) interrupt(js *goja.Runtime, start time.Time, why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running && k.hit == nil && k.start.Equal(start) {
		k.hit = why
		js.Interrupt(why)
	}
}

// watchdog looks at all VMs, and at the heap, every tick. It sleeps while no script runs.
type watchdog struct {
	mu      sync.Mutex
	vms     map[*vm]struct{}
	heap    *heap
	parked  atomic.Bool
	wake    chan struct{}
	stop    chan struct{}
	once    sync.Once
	stopped chan struct{}
	probe   *regexp2.Regexp // see wind; nil until New has bounded the expressions
	wound   time.Time
}

func newWatchdog(h *heap) *watchdog {
	return &watchdog{
		vms: map[*vm]struct{}{}, heap: h,
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

// windEvery is how often the clock of the expressions is wound while turns run.
const windEvery = 50 * time.Millisecond

// wind keeps the clock of the regular expressions going. It stands still when
// none was tried for a while: of two that are tried at once then, one may find
// its time over before it has begun, and tell "no match".
func (w *watchdog) wind() { _, _ = w.probe.MatchString("a") }

// started is called when a turn begins.
func (w *watchdog) started() {
	if w.parked.Load() {
		w.wind()
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
			if now.Sub(w.wound) >= windEvery {
				w.wound = now
				w.wind()
			}
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

// look charges all VMs and reports whether one of them runs a turn. While the
// heap is too large, the longest of those turns is ended.
func (w *watchdog) look(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest *vm
	var oldest time.Time
	running, ending := false, false
	for v := range w.vms {
		t := v.clock.charge(v.js, d)
		running = running || t.running
		ending = ending || t.hit
		if t.running && !t.hit && (longest == nil || t.start.Before(oldest)) {
			longest, oldest = v, t.start
		}
	}
	if !running {
		w.heap.rest()
		return false
	}
	if w.heap.excess(ending) && longest != nil {
		longest.clock.interrupt(longest.js, oldest, errMemory{w.heap.limit})
	}
	return true
}

func (w *watchdog) close() {
	w.once.Do(func() { close(w.stop) })
	<-w.stopped
}
