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

// task is one turn. run returns only what no script can catch: an interrupt, a
// stack overflow.
type task struct {
	call *call // for whom, nil for the module itself
	run  func() error
}

// vm is one virtual machine of a generation. Everything that touches js runs
// inside a turn, and turns never overlap.
type vm struct {
	gen   *Generation
	js    *goja.Runtime
	host  *host
	clock clock
	limit time.Duration // CPU of a turn: more while loading
	load  *loading      // nil once loaded

	mu    sync.Mutex
	queue []task
	busy  bool // a goroutine runs turns or is about to
	dead  bool // condemned or disposed of: takes no turns
	calls map[*call]struct{}

	inflight int         // guarded by the group
	served   int         // calls so far, guarded by the group
	retired  bool        // guarded by the group: takes no new calls
	used     time.Time   // guarded by the group
	running  atomic.Bool // a hint for the group: busy now

	// Below: only inside a turn.
	cur      *call        // whose asynchronous context this is
	tx       *transaction // whose part it is; nil for none
	left     *call        // whose it was last, in this turn: what a reaction throws is a rejection after it
	watching *call        // during whose turn the variables of modules are compared
	routes   []jsRoute
	events   []jsEvent
	rejected map[*goja.Promise]*call // rejected in this turn, without a handler so far
	timers   timers
	scratch  []byte // of the JSON writer, between calls
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

// contextTracker makes v.cur follow promises.
type contextTracker vm

// Grab returns the context that a promise reaction will run in.
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

// Exited leaves the context; nothing else of the turn has one.
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

// do runs t now if v is idle, else leaves it to who is busy with v. With
// patient it also runs what came meanwhile; without, a fresh goroutine does.
// False means that v is dead and t will not run.
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
	v.turn(t)
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
	v.idle()
	return true
}

// drain runs turns until the queue is empty.
func (v *vm) drain() {
	for {
		v.mu.Lock()
		if len(v.queue) == 0 || v.dead {
			v.idle()
			v.mu.Unlock()
			return
		}
		t := v.queue[0]
		v.queue[0] = task{}
		v.queue = v.queue[1:]
		v.mu.Unlock()
		v.turn(t)
	}
}

// idle needs v.mu.
func (v *vm) idle() {
	v.busy = false
	v.running.Store(false)
	v.queue = nil
}

// turn runs one task under the watchdog and deals with how it ended.
func (v *vm) turn(t task) {
	v.cur, v.tx, v.left = t.call, nil, nil
	v.clock.begin(v.limit)
	v.gen.rt.dog.started()
	err := v.step(t)
	took, stopped := v.clock.end()
	culprit := v.cur
	if culprit == nil {
		culprit = t.call
	}
	v.cur, v.tx = nil, nil
	if err != nil || stopped != nil {
		v.ended(err, stopped, culprit)
	}
	v.count(t.call, took)
}

// step runs the task. It turns a Go panic into an error, and lets what no
// script can catch out of nested calls.
func (v *vm) step(t task) (err error) {
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if e, ok := x.(error); ok && uncatchable(e) {
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

func uncatchable(err error) bool {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow) || errors.As(err, new(stopped))
}

// ended deals with a turn that did not end by itself; stopped is why the
// watchdog ended it, nil when it did not. What the engine had
// queued is lost, so that v serves no new calls; after an interrupt or a panic
// not even those it has.
func (v *vm) ended(err, stopped error, culprit *call) {
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
	v.gen.group.interrupted(time.Now())
	var overflow *goja.StackOverflowError
	if stopped == nil && errors.As(err, &overflow) {
		return
	}
	v.condemn()
}

// condemn ends v and sends its calls away: those that did not start, or only
// read, are run again elsewhere.
func (v *vm) condemn() {
	v.mu.Lock()
	v.dead = true
	calls := v.calls
	v.calls = map[*call]struct{}{}
	v.mu.Unlock()
	for c := range calls {
		c.displaced()
	}
	v.dispose()
}

// dispose releases what outlives v's memory. It may be called from any
// goroutine once v takes no more turns.
func (v *vm) dispose() {
	v.mu.Lock()
	v.dead = true
	v.mu.Unlock()
	v.timers.stopAll()
	v.gen.rt.dog.remove(v)
}

// logRejections reports promises that were rejected in this turn and that
// nobody handles.
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
