package vm

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

const (
	watchTick  = 5 * time.Millisecond // interval of the checks
	idleTicks  = 200                  // ticks without a turn after which the watchdog sleeps
	reapPeriod = 15 * time.Second     // interval of the check for idle VMs
	// maxCharge is the maximum time that one check adds to the CPU time of a turn. If the process was suspended, the
	// time of the suspension must not count, or all running scripts would be stopped.
	maxCharge = 50 * time.Millisecond
)

// errCPU is the reason of an interrupt because of the CPU limit.
type errCPU struct{ limit time.Duration }

func (e errCPU) Error() string {
	return "the script used more than " + e.limit.String() + " of CPU in one turn"
}

// clock measures the CPU time of the current turn of one VM.
type clock struct {
	mu      sync.Mutex
	running bool
	seen    bool          // the watchdog has checked this turn at least once
	paused  bool          // see Pause
	hit     error         // reason of the interrupt, nil if there was none
	used    time.Duration // CPU time that the watchdog has counted for this turn
	limit   time.Duration // maximum CPU time of the turn
	start   time.Time
	looked  time.Time     // time of the last check by the watchdog, or start if there was none
	lag     time.Duration // longest delay of a check in this turn, compared with watchTick
	matches bool          // the VM may use regular expressions; never reset
}

func (k *clock) begin(limit time.Duration) {
	now := time.Now()
	k.mu.Lock()
	k.running, k.seen, k.hit, k.used, k.limit, k.start, k.looked, k.lag = true, false, nil, 0, limit, now, now, 0
	k.mu.Unlock()
}

// end ends the turn. took is the duration of the turn. late is nil if the turn stayed within its limits. If the turn
// was interrupted or should have been, late is the reason. After end, an interrupt cannot hit this turn any more.
func (k *clock) end() (took time.Duration, late error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	late = k.overLimit(now)
	k.running = false
	return now.Sub(k.start), late
}

// mayMatch records that scripts of the VM use regular expressions.
func (k *clock) mayMatch() {
	k.mu.Lock()
	k.matches = true
	k.mu.Unlock()
}

// expired returns the reason why the turn must end, or nil. It reads the time itself, so it does not depend on the
// checks of the watchdog. An expired turn must not have effects any more, because a regular expression may have timed
// out with the result "no match".
func (k *clock) expired() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.overLimit(time.Now())
}

// overLimit returns the reason why the turn must end at the time now, or nil. The caller must hold k.mu. If the
// process is delayed, the clock of the regular expressions lags behind, and an expression can time out too early by
// this lag. overLimit assumes that this lag is the same as the lag of the watchdog.
func (k *clock) overLimit(now time.Time) error {
	if k.hit != nil || !k.matches {
		return k.hit
	}
	took, lag := now.Sub(k.start), max(k.lag, now.Sub(k.looked)-watchTick)
	if took >= k.limit || took+lag >= k.limit+regexpSlack {
		return errCPU{k.limit}
	}
	return nil
}

// turnState is the state of a clock that a check of the watchdog found. hit is true if the turn has been interrupted.
type turnState struct {
	running, hit bool
	start        time.Time
}

// charge adds d, the time since the last check, to the CPU time of a running turn. It interrupts the turn if the
// limit is exceeded.
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

// interrupt interrupts the turn that began at start, unless that turn has ended meanwhile.
func (k *clock) interrupt(js *goja.Runtime, start time.Time, why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running && k.hit == nil && k.start.Equal(start) {
		k.hit = why
		js.Interrupt(why)
	}
}

// Watchdog checks all VMs and the heap every 5 ms (watchTick). It sleeps while no script runs.
type Watchdog struct {
	mu      sync.Mutex
	vms     map[*VM]struct{}
	heap    *heap
	relief  relief
	parked  atomic.Bool // the watchdog sleeps; see park
	wake    chan struct{}
	stop    chan struct{}
	once    sync.Once
	stopped chan struct{}
	probe   *regexp2.Regexp // see windClock; nil until Start
	wound   time.Time       // time of the last windClock
}

// NewWatchdog returns a watchdog. Use Start to start it.
func NewWatchdog(h *heap) *Watchdog {
	w := &Watchdog{
		vms: map[*VM]struct{}{}, heap: h, relief: relief{freed: map[string]int64{}},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	h.relieve = w.relieve
	return w
}

func (w *Watchdog) add(v *VM) {
	w.mu.Lock()
	w.vms[v] = struct{}{}
	w.mu.Unlock()
}

func (w *Watchdog) remove(v *VM) {
	w.mu.Lock()
	delete(w.vms, v)
	w.mu.Unlock()
}

// windEvery is the interval of windClock while turns run.
const windEvery = 50 * time.Millisecond

// windClock keeps the clock of the package regexp2 running by matching an expression. That clock stops if no
// expression is used for a while. If two expressions were then started at the same time, one of them could time out
// at once and return "no match".
func (w *Watchdog) windClock() { _, _ = w.probe.MatchString("a") }

// turnStarted wakes the watchdog if it sleeps. It must be called when a turn begins.
func (w *Watchdog) turnStarted() {
	if w.parked.Load() {
		w.windClock()
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Start starts the watchdog on its own goroutine. BoundRegexps must have been called before. The watchdog calls reap
// every 15 seconds (reapPeriod), to remove idle VMs.
func (w *Watchdog) Start(reap func()) {
	w.probe = regexp2.MustCompile("a", regexp2.ECMAScript)
	go w.run(reap)
}

// run checks the VMs until Close is called. It calls reap every reapPeriod.
func (w *Watchdog) run(reap func()) {
	defer close(w.stopped)
	ticker := time.NewTicker(watchTick)
	defer ticker.Stop()
	last, reaped, idle := time.Now(), time.Now(), 0
	for {
		now := time.Now()
		if w.checkAll(now.Sub(last)) {
			idle = 0
			if now.Sub(w.wound) >= windEvery {
				w.wound = now
				w.windClock()
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

// park makes the watchdog sleep until a turn begins or until it is time to call reap. It returns false if the
// watchdog should stop.
func (w *Watchdog) park(ticker *time.Ticker) bool {
	w.parked.Store(true)
	defer w.parked.Store(false)
	if w.checkAll(0) { // a turn may have begun before parked was set
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

// checkAll adds the time d to all running turns and reports whether there is one. If the heap is too large, it
// interrupts the turn that has run longest.
func (w *Watchdog) checkAll(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest *VM
	var oldest time.Time
	running, ending := false, false
	for v := range w.vms {
		t := v.Clock.charge(v.JS, d)
		running = running || t.running
		ending = ending || t.hit
		if t.running && !t.hit && (longest == nil || t.start.Before(oldest)) {
			longest, oldest = v, t.start
		}
	}
	if !running {
		w.heap.skipCheck()
		return false
	}
	if w.heap.exceedsLimit(ending) && longest != nil {
		longest.Clock.interrupt(longest.JS, oldest, errMemory{w.heap.limit})
	}
	return true
}

// Close stops the watchdog and waits until it has ended.
func (w *Watchdog) Close() {
	w.once.Do(func() { close(w.stop) })
	<-w.stopped
}

// regexpSlack is the time from the CPU limit of a turn to the timeout of a regular expression; see BoundRegexps.
// regexpTick is the resolution of the clock of regular expressions.
const (
	regexpSlack = 70 * time.Millisecond
	regexpTick  = 10 * time.Millisecond
)

// regexpBound makes BoundRegexps set the options of regexp2 only once. regexp2 reads these global variables without a
// lock, so they must be set before the first VM exists.
var regexpBound sync.Once

// BoundRegexps sets the timeout of regular expressions to the CPU limit of the longest turn plus regexpSlack. goja
// treats a timeout as "no match". Therefore the timeout must be longer than any turn may last: when an expression
// times out, the time of its turn is over too, and the wrong result is discarded. Only the first call in a process
// has an effect. BoundRegexps returns the limit in force, which an earlier Runtime may have set.
func BoundRegexps(limit time.Duration) time.Duration {
	regexpBound.Do(func() {
		regexp2.SetTimeoutCheckPeriod(regexpTick)
		regexp2.DefaultMatchTimeout = limit + regexpSlack
	})
	return regexp2.DefaultMatchTimeout - regexpSlack
}

// Count returns the number of VMs that have not been disposed of.
func (w *Watchdog) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.vms)
}

// Pause stops the clock of a turn while the server compiles files for it; resume starts the clock again. Compilation
// has its own limits, for the size of files and for the time of the compiler. A script that requires a large package
// should not run into the CPU limit because of it.
func (k *clock) Pause() (resume func()) {
	began := time.Now()
	k.mu.Lock()
	k.paused = true
	k.mu.Unlock()
	return func() {
		k.mu.Lock()
		k.paused, k.seen = false, false
		now := time.Now()
		k.start, k.looked = k.start.Add(now.Sub(began)), now
		k.mu.Unlock()
	}
}
