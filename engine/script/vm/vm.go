package vm

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

	"restsrv/engine/script/js"
	"restsrv/engine/script/platform"
)

// Task is a turn to run. Run returns only errors that scripts cannot catch, such as an interrupt or a stack overflow.
type Task struct {
	Call *Call // the call that the turn belongs to; nil while the module is loaded
	Run  func() error
}

// VM is one JavaScript runtime with the module of a service. Its runtime may be used only inside a turn, and two
// turns of a VM never run at the same time.
type VM struct {
	*js.Realm
	Service *Service
	Clock   clock
	limit   time.Duration // CPU time of a turn; higher while loading
	Load    *Loading      // nil when the module is loaded

	Bindings    []any              // see BindingOf
	Platform    *platform.Platform // nil until a script uses a global or module of the platform
	NewPlatform func() *platform.Platform
	AfterTurn   func(*Call) error // called after each turn that did not fail; may be nil

	mu    sync.Mutex
	queue []Task
	busy  bool // a goroutine runs turns or is about to; only that goroutine takes turns from the queue
	dead  bool // the VM was discarded and accepts no turns
	calls map[*Call]struct{}

	inflight int         // number of current calls that have a slot; protected by group.mu
	lasting  int         // number of current calls that have given back their slot; protected by group.mu
	served   int         // number of calls so far; protected by group.mu
	retired  bool        // gets no new calls; protected by group.mu
	used     time.Time   // time of the last use; protected by group.mu
	running  atomic.Bool // a turn runs now; the group prefers VMs where this is false

	// The following fields may be used only inside a turn.
	Call     *Call                   // call of the current asynchronous context
	Scope    *Scope                  // current transaction of the asynchronous context; nil if there is none
	Store    any                     // values of AsyncLocalStorage in the asynchronous context; nil if there are none
	left     *Call                   // last call in this turn; promises that are rejected without a context belong to it
	Routes   []Route                 // the functions that the module registered
	Rejected map[*goja.Promise]*Call // promises rejected in this turn without a handler so far, by call
	Timers   timers
	Tally    tally     // of this turn
	sources  []*Source // sources that have changed in this turn

	suspensions suspensions

	onFulfilled, onRejected goja.Value // callbacks of await
}

// New returns a VM without any globals of restsrv. The caller sets NewPlatform and Bindings before the first turn.
func New(s *Service) *VM {
	v := &VM{Service: s, limit: s.Limits.Load, calls: map[*Call]struct{}{}, Rejected: map[*goja.Promise]*Call{}}
	v.Realm = js.New(&s.Limits, v)
	v.Timers.vm = v
	v.JS.SetMaxCallStackSize(s.Limits.CallStack)
	v.JS.SetParserOptions(parser.WithDisableSourceMaps)
	v.JS.SetAsyncContextTracker((*contextTracker)(v))
	v.JS.SetPromiseRejectionTracker(v.trackRejection)
	s.Dog.add(v)
	return v
}

var _ js.Owner = (*VM)(nil)

// Expired implements js.Owner. It returns the reason why the current turn must end, or nil.
func (v *VM) Expired() error { return v.Clock.expired() }

// Compile implements js.Owner.
func (v *VM) Compile(text string) (*goja.Program, error) {
	return v.Service.Compile.PreludeProgram(text)
}

// MayMatch records that scripts of the VM may use regular expressions from now on; see clock.overLimit.
func (v *VM) MayMatch() { v.Clock.mayMatch() }

// BindingOf returns the binding of type T that v has, or the zero T. Work uses it to find the binding of the VM that
// it runs on.
func BindingOf[T any](v *VM) (b T) {
	for _, one := range v.Bindings {
		if b, ok := one.(T); ok {
			return b
		}
	}
	return b
}

// Scope is a part of a call in which operations use a context of their own, for example a transaction. Outside of
// scopes, operations use the context of the call.
type Scope struct {
	Call *Call
	Ctx  context.Context
	Over bool // may be used only inside a turn
}

// IsOpen reports whether operations may still use the scope. The scope may be nil.
func (s *Scope) IsOpen() bool { return s != nil && !s.Over }

// currentContext returns the context for an operation. If a scope is open, this is the context of the scope,
// otherwise that of c.
func (v *VM) currentContext(c *Call) context.Context {
	if v.Scope.IsOpen() {
		return v.Scope.Ctx
	}
	return c.Context()
}

// EnsurePlatform returns the platform of the VM and creates it at the first use.
func (v *VM) EnsurePlatform() *platform.Platform {
	if v.Platform == nil {
		v.Platform = v.NewPlatform()
	}
	return v.Platform
}

// NewBytes returns a Buffer that uses b as its memory.
func (v *VM) NewBytes(b []byte) goja.Value { return v.EnsurePlatform().Buffer(b) }

// contextTracker implements goja.AsyncContextTracker. While a promise callback runs, it sets v.Call, v.Scope and v.Store
// to the values that they had when the callback was registered.
type contextTracker VM

// storedContext is an asynchronous context in which a script uses AsyncLocalStorage.
type storedContext struct {
	context any // as grabContext returns it
	store   any
}

// Grab returns the current context. goja calls it when a promise callback is registered. Contexts without a store are
// not wrapped, because most scripts have no others.
func (t *contextTracker) Grab() any {
	if t.Store != nil {
		return &storedContext{t.grabContext(), t.Store}
	}
	return t.grabContext()
}

func (t *contextTracker) grabContext() any {
	if t.Call != nil {
		if s := t.suspensions.add(t.Call, t.Scope); s != nil {
			return s
		}
	}
	if t.Scope != nil {
		return t.Scope
	}
	return t.Call
}

// Resumed sets the current context to o, a value that Grab returned. goja calls it before a promise callback runs.
func (t *contextTracker) Resumed(o any) {
	t.Store = nil
	if s, ok := o.(*storedContext); ok {
		t.Store, o = s.store, s.context
	}
	switch o := o.(type) {
	case *suspended:
		t.Call, t.Scope = o.call, o.scope
		t.suspensions.remove(o)
	case *Scope:
		t.Call, t.Scope = o.Call, o
	case *Call:
		t.Call, t.Scope = o, nil
	default:
		t.Call, t.Scope = nil, nil
	}
}

// Exited ends the current context after a promise callback. The rest of the turn has no context.
func (t *contextTracker) Exited() { t.left, t.Call, t.Scope, t.Store = t.Call, nil, nil, nil }

// trackRejection is called by goja when a promise without a handler is rejected, and when a rejected promise gets a
// handler later.
func (v *VM) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		if v.Rejected[p] = v.Call; v.Call == nil {
			v.Rejected[p] = v.left
		}
		return
	}
	delete(v.Rejected, p)
}

// Do runs the turn t now if v is idle. If v is busy, Do adds t to the queue, which the goroutine that uses v will
// run. Other goroutines may queue turns while t runs. If patient is true, Do runs these turns too before it returns;
// otherwise it starts a goroutine for them. Do returns false if v is dead and t will not run.
func (v *VM) Do(t Task, patient bool) bool {
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
func (v *VM) drain() {
	for {
		v.mu.Lock()
		if len(v.queue) == 0 || v.dead {
			v.markIdle()
			v.mu.Unlock()
			return
		}
		t := v.queue[0]
		v.queue[0] = Task{}
		v.queue = v.queue[1:]
		v.mu.Unlock()
		v.runTurn(t)
	}
}

// markIdle marks v as idle. The caller must hold v.mu.
func (v *VM) markIdle() {
	v.busy = false
	v.running.Store(false)
	v.queue = nil
}

// runTurn runs one task under the watchdog and handles an abnormal end.
func (v *VM) runTurn(t Task) {
	v.Call, v.Scope, v.Store, v.left = t.Call, nil, nil, nil
	v.Clock.begin(v.limit)
	v.Service.Dog.turnStarted()
	err := v.runStep(t)
	if len(v.sources) > 0 {
		notifySources(v)
	}
	took, stopped := v.Clock.end()
	culprit := v.Call
	if culprit == nil {
		culprit = t.Call
	}
	v.Call, v.Scope, v.Store = nil, nil, nil
	if err != nil || stopped != nil {
		v.handleAbort(err, stopped, culprit)
	}
	v.countTurn(t.Call, took)
}

// runStep runs the task and AfterTurn. Its error ends the turn: scripts cannot catch it, or the task has panicked in
// Go.
func (v *VM) runStep(t Task) (err error) {
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if e, ok := x.(error); ok && IsUncatchable(e) {
			err = e
			return
		}
		err = &panicError{value: x, stack: string(debug.Stack())}
	}()
	err = t.Run()
	if err == nil && v.AfterTurn != nil {
		err = v.AfterTurn(t.Call)
	}
	if err == nil && len(v.Rejected) > 0 {
		v.logRejections()
	}
	return err
}

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// IsUncatchable reports whether err ends the turn because scripts cannot catch it: an interrupt, a stack overflow, or
// js.Stopped.
func IsUncatchable(err error) bool {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow) || errors.As(err, new(js.Stopped))
}

// handleAbort handles a turn that was aborted with err. stopped is the reason that the watchdog gave, or nil.
// culprit is the call that was running; it fails. In an abort, goja loses its queue of promise callbacks, so v
// accepts no new calls. After an interrupt or a panic, the other current calls of v cannot continue either, so
// handleAbort condemns v.
func (v *VM) handleAbort(err, stopped error, culprit *Call) {
	cause := v.describeAbort(err, stopped)
	switch {
	case culprit != nil:
		culprit.fail(cause)
	case v.Load != nil:
		v.Load.Finish(v.LoadError(cause))
	default:
		v.Service.Log.Error("a script failed outside any request", v.Service.FailureArgs(cause)...)
	}
	v.Service.Group.retire(v)
	v.Service.Counters.interrupts[reasonOf(err, stopped)].Add(1)
	v.Service.Group.recordInterrupt(time.Now())
	var overflow *goja.StackOverflowError
	if stopped == nil && errors.As(err, &overflow) {
		return
	}
	v.condemn()
}

// condemn stops v and ends its calls. Calls that have not started or that only read are run again on another VM.
func (v *VM) condemn() {
	v.mu.Lock()
	v.dead = true
	calls := v.calls
	v.calls = map[*Call]struct{}{}
	v.mu.Unlock()
	for c := range calls {
		c.handleDiscard()
	}
	v.Dispose()
}

// Dispose stops the timers of v and removes it from the watchdog. It may be called from any goroutine.
func (v *VM) Dispose() {
	v.mu.Lock()
	v.dead = true
	v.mu.Unlock()
	v.Timers.stopAll()
	v.Service.Dog.remove(v)
}

// logRejections logs the promises that were rejected in this turn and still have no handler.
func (v *VM) logRejections() {
	for p, c := range v.Rejected {
		delete(v.Rejected, p)
		f := v.DescribeThrown(p.Result(), nil)
		v.Tally.rejections++
		log := v.Service.Log
		if c != nil {
			log = log.With("request", c.Req.ID)
		}
		log.Error(RejectionMessage, v.Service.FailureArgs(f)...)
	}
}

// CallModule calls a function of a built-in module, such as inspect of util, and returns its result.
func (v *VM) CallModule(module, name string, args ...goja.Value) goja.Value {
	f, _ := goja.AssertFunction(v.EnsurePlatform().Module(module).(*goja.Object).Get(name))
	result, err := f(goja.Undefined(), args...)
	if err != nil {
		panic(js.Rethrow(err))
	}
	return result
}

// NewStream returns a readable stream over a copy of content.
func (v *VM) NewStream(content []byte) *goja.Object {
	o, err := v.JS.New(v.EnsurePlatform().Module("#stream"), v.NewBytes(append([]byte(nil), content...)))
	js.Must(err)
	return o
}

// StreamOf adds the property stream to o: a readable stream over content. The stream is created when the property is
// first read.
func (v *VM) StreamOf(o *goja.Object, content []byte) {
	var made goja.Value
	get := v.NewFunction("stream", func(goja.FunctionCall) goja.Value {
		if made == nil {
			made = v.NewStream(content)
		}
		return made
	})
	_ = o.DefineAccessorProperty("stream", get, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// Route is a function that the module registered in one VM: the handler of an HTTP route, a function of a converter,
// or a test.
type Route struct {
	Method, Path string
	Key          string // equal for paths that match the same requests
	Handler      goja.Callable
	This         goja.Value
	Streams      bool        // the handler reads the body of the request as a stream
	Source       goja.String // text of the handler, for messages about its position; may be nil
}
