package script

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// task is one turn. run returns only errors that scripts cannot catch, such as
// an interrupt or a stack overflow.
type task struct {
	call *call // call of the turn, nil for the module itself
	run  func() error
}

// vm is one virtual machine of a generation. js may be used only inside a turn,
// and turns never overlap.
type vm struct {
	gen   *Generation
	js    *goja.Runtime
	host  *host
	clock clock
	limit time.Duration // CPU time of a turn; higher while loading
	load  *loading      // nil when loaded

	mu    sync.Mutex
	queue []task
	busy  bool // a goroutine runs turns, or is about to
	dead  bool // condemned or disposed of; accepts no turns
	calls map[*call]struct{}

	inflight int         // protected by the group
	served   int         // number of calls so far, protected by the group
	retired  bool        // accepts no new calls, protected by the group
	used     time.Time   // protected by the group
	running  atomic.Bool // the VM is busy now; a hint for the group

	// The following fields may be used only inside a turn.
	cur      *call        // call of the current asynchronous context
	tx       *transaction // transaction of the current asynchronous context; nil if there is none
	left     *call        // last call in this turn; used for rejections that follow after its context has ended
	watching *call        // call of the turn after which the variables of modules are compared
	routes   []jsRoute
	events   []jsEvent
	rejected map[*goja.Promise]*call // rejected in this turn and still without a handler
	timers   timers
	scratch  []byte // buffer of the JSON writer, kept between calls
	tally    tally  // of this turn
}

func newVM(g *Generation) *vm {
	v := &vm{gen: g, js: goja.New(), limit: g.limits.Load, calls: map[*call]struct{}{}, rejected: map[*goja.Promise]*call{}}
	v.timers.vm = v
	v.js.SetMaxCallStackSize(g.limits.CallStack)
	v.js.SetParserOptions(parser.WithDisableSourceMaps)
	v.js.SetAsyncContextTracker((*contextTracker)(v))
	v.js.SetPromiseRejectionTracker(v.trackRejection)
	v.host = newHost(v)
	g.rt.dog.add(v)
	return v
}

// contextTracker implements goja's async context tracker. It makes v.cur and
// v.tx follow promises.
type contextTracker vm

// Grab returns the context in which a promise reaction will run.
func (t *contextTracker) Grab() any {
	if t.tx != nil {
		return t.tx
	}
	return t.cur
}

// Resumed enters a context.
func (t *contextTracker) Resumed(o any) {
	if tx, ok := o.(*transaction); ok {
		t.cur, t.tx = tx.call, tx
		return
	}
	t.cur, _ = o.(*call)
	t.tx = nil
}

// Exited leaves the context. The rest of the turn has no context.
func (t *contextTracker) Exited() { t.left, t.cur, t.tx = t.cur, nil, nil }

func (v *vm) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		if v.rejected[p] = v.cur; v.cur == nil {
			v.rejected[p] = v.left
		}
		return
	}
	delete(v.rejected, p)
}

// do runs t now if v is idle. Otherwise it queues t for the goroutine that uses
// v. After t, do also runs turns that were queued meanwhile if patient is true,
// and starts a goroutine for them if it is false. It returns false if v is dead
// and t will not run.
func (v *vm) do(t task, patient bool) bool {
	v.mu.Lock()
	if v.dead {
		v.mu.Unlock()
		return false
	}
	if v.busy {
		v.queue = append(v.queue, t)
		v.mu.Unlock()
		return true
	}
	v.busy = true
	v.running.Store(true)
	v.mu.Unlock()
	v.runTurn(t)
	if patient {
		v.drain()
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.queue) > 0 && !v.dead {
		go v.drain()
		return true
	}
	v.markIdle()
	return true
}

// drain runs turns until the queue is empty.
func (v *vm) drain() {
	for {
		v.mu.Lock()
		if len(v.queue) == 0 || v.dead {
			v.markIdle()
			v.mu.Unlock()
			return
		}
		t := v.queue[0]
		v.queue[0] = task{}
		v.queue = v.queue[1:]
		v.mu.Unlock()
		v.runTurn(t)
	}
}

// markIdle marks v as idle. The caller must hold v.mu.
func (v *vm) markIdle() {
	v.busy = false
	v.running.Store(false)
	v.queue = nil
}

// runTurn runs one task under the watchdog and handles an abnormal end.
func (v *vm) runTurn(t task) {
	v.cur, v.tx, v.left = t.call, nil, nil
	v.clock.begin(v.limit)
	v.gen.rt.dog.turnStarted()
	err := v.runStep(t)
	took, stopped := v.clock.end()
	culprit := v.cur
	if culprit == nil {
		culprit = t.call
	}
	v.cur, v.tx = nil, nil
	if err != nil || stopped != nil {
		v.handleAbort(err, stopped, culprit)
	}
	v.countTurn(t.call, took)
}

// runStep runs the task. It converts a Go panic to an error, and returns the
// errors that scripts cannot catch.
func (v *vm) runStep(t task) (err error) {
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if e, ok := x.(error); ok && isUncatchable(e) {
			err = e
			return
		}
		err = &panicError{value: x, stack: string(debug.Stack())}
	}()
	err = t.run()
	if err == nil && v.host.watched != nil {
		err = v.compareModules(t.call)
	}
	if err == nil && len(v.rejected) > 0 {
		v.logRejections()
	}
	return err
}

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func isUncatchable(err error) bool {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow) || errors.As(err, new(stopped))
}

// handleAbort handles a turn that was aborted. stopped is the reason of the
// watchdog, or nil. The queued jobs of goja are lost, so v accepts no new
// calls. After an interrupt or a panic, its current calls cannot continue
// either.
func (v *vm) handleAbort(err, stopped error, culprit *call) {
	cause := v.describeAbort(err, stopped)
	switch {
	case culprit != nil:
		culprit.fail(cause)
	case v.load != nil:
		v.load.finish(v.loadError(cause))
	default:
		v.gen.log.Error("a script failed outside any request", v.gen.failureArgs(cause)...)
	}
	v.gen.group.retire(v)
	v.gen.lasting.counters.interrupts[reasonOf(err, stopped)].Add(1)
	v.gen.group.recordInterrupt(time.Now())
	var overflow *goja.StackOverflowError
	if stopped == nil && errors.As(err, &overflow) {
		return
	}
	v.condemn()
}

// condemn stops v and displaces its calls. Calls that have not started or that
// only read are run again on another VM.
func (v *vm) condemn() {
	v.mu.Lock()
	v.dead = true
	calls := v.calls
	v.calls = map[*call]struct{}{}
	v.mu.Unlock()
	for c := range calls {
		c.handleDiscard()
	}
	v.dispose()
}

// dispose releases the timers of v and removes it from the watchdog. It may be
// called from any goroutine when v accepts no more turns.
func (v *vm) dispose() {
	v.mu.Lock()
	v.dead = true
	v.mu.Unlock()
	v.timers.stopAll()
	v.gen.rt.dog.remove(v)
}

// logRejections logs promises that were rejected in this turn and have no
// handler.
func (v *vm) logRejections() {
	for p, c := range v.rejected {
		delete(v.rejected, p)
		f := v.describeThrown(p.Result(), nil)
		v.tally.rejections++
		log := v.gen.log
		if c != nil {
			log = log.With("request", c.req.ID)
		}
		log.Error(RejectionMessage, v.gen.failureArgs(f)...)
	}
}
