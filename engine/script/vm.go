package script

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"restsrv/engine/script/platform"
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
	*realm
	service *vmService
	clock   clock
	limit   time.Duration // CPU time of a turn; higher while loading
	load    *loading      // nil when loaded

	bindings    []any              // see bindingOf
	platform    *platform.Platform // nil until a script uses a part of it
	newPlatform func() *platform.Platform
	afterTurn   func(*call) error // called after each turn that did not fail; may be nil

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
	cur      *call                   // call of the current asynchronous context
	tx       *scope                  // scope of the current asynchronous context; nil if there is none
	left     *call                   // last call in this turn; used for rejections that follow after its context has ended
	routes   []jsRoute               // the functions that the module registered
	rejected map[*goja.Promise]*call // rejected in this turn and still without a handler
	timers   timers
	tally    tally // of this turn

	onFulfilled, onRejected goja.Value // callbacks of await
}

func newVM(s *vmService) *vm {
	v := &vm{service: s, limit: s.limits.Load, calls: map[*call]struct{}{}, rejected: map[*goja.Promise]*call{}}
	v.realm = newRealm(&s.limits, v.clock.expired, s.compile.preludeProgram)
	v.timers.vm = v
	v.js.SetMaxCallStackSize(s.limits.CallStack)
	v.js.SetParserOptions(parser.WithDisableSourceMaps)
	v.js.SetAsyncContextTracker((*contextTracker)(v))
	v.js.SetPromiseRejectionTracker(v.trackRejection)
	s.dog.add(v)
	return v
}

// bindingOf returns the binding of type T of a VM. Work uses it to find the binding of the VM that it runs on.
func bindingOf[T any](v *vm) (b T) {
	for _, one := range v.bindings {
		if b, ok := one.(T); ok {
			return b
		}
	}
	return b
}

// scope is an asynchronous context within a call that has a context of its own for operations, such as a transaction.
type scope struct {
	call *call
	ctx  context.Context
	over bool // may be used only inside a turn
}

// isOpen reports whether the scope accepts operations.
func (s *scope) isOpen() bool { return s != nil && !s.over }

// currentContext returns the context for operations of c in the current asynchronous context.
func (v *vm) currentContext(c *call) context.Context {
	if v.tx.isOpen() {
		return v.tx.ctx
	}
	return c.context()
}

// ensurePlatform returns the platform of the VM.
func (v *vm) ensurePlatform() *platform.Platform {
	if v.platform == nil {
		v.platform = v.newPlatform()
	}
	return v.platform
}

// newBytes returns a Buffer that uses b as its memory.
func (v *vm) newBytes(b []byte) goja.Value { return v.ensurePlatform().Buffer(b) }

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
	if tx, ok := o.(*scope); ok {
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
	v.service.dog.turnStarted()
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
	if err == nil && v.afterTurn != nil {
		err = v.afterTurn(t.call)
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
		v.service.log.Error("a script failed outside any request", v.service.failureArgs(cause)...)
	}
	v.service.group.retire(v)
	v.service.counters.interrupts[reasonOf(err, stopped)].Add(1)
	v.service.group.recordInterrupt(time.Now())
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
	v.service.dog.remove(v)
}

// logRejections logs promises that were rejected in this turn and have no
// handler.
func (v *vm) logRejections() {
	for p, c := range v.rejected {
		delete(v.rejected, p)
		f := v.describeThrown(p.Result(), nil)
		v.tally.rejections++
		log := v.service.log
		if c != nil {
			log = log.With("request", c.req.ID)
		}
		log.Error(RejectionMessage, v.service.failureArgs(f)...)
	}
}

// callModule calls a function of a built-in module.
func (v *vm) callModule(module, name string, args ...goja.Value) goja.Value {
	f, _ := goja.AssertFunction(v.ensurePlatform().Module(module).(*goja.Object).Get(name))
	result, err := f(goja.Undefined(), args...)
	if err != nil {
		panic(rethrow(err))
	}
	return result
}

// newStream returns a stream of a copy of content.
func (v *vm) newStream(content []byte) *goja.Object {
	o, err := v.js.New(v.ensurePlatform().Module("#stream"), v.newBytes(append([]byte(nil), content...)))
	must(err)
	return o
}

// streamOf adds the property stream to an object. The stream is made when the property is first read.
func (v *vm) streamOf(o *goja.Object, content []byte) {
	var made goja.Value
	get := v.newFunction("stream", func(goja.FunctionCall) goja.Value {
		if made == nil {
			made = v.newStream(content)
		}
		return made
	})
	_ = o.DefineAccessorProperty("stream", get, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// jsRoute is a function that the module registered in one VM: the handler of a route, a function of a converter, or a
// test.
type jsRoute struct {
	method, path string
	key          string // equal for paths that match the same requests
	handler      goja.Callable
	this         goja.Value
}
