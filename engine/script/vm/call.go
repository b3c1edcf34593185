package vm

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/service"
)

// Outcome is the result of a call.
type Outcome struct {
	Response *service.Response
	Err      error
	again    bool // the VM was discarded during the call; run the call again
	Data     any  // decoded result of work that has no response
	None     bool // the function returned undefined

	Displaced bool // the VM was discarded during the call, and the call cannot be repeated

	// Stream is the body of Response if the script produces it while it is sent. The call goes on until the caller of
	// Run closes the stream.
	Stream *Stream
}

// Work defines what a call runs and what happens with the result. There are implementations for the handlers of
// routes, events and tests, and for the functions of converters.
type Work interface {
	// Start calls the function of the script. It runs in the first turn of the call (see the package comment for
	// turns).
	Start(c *Call) (goja.Value, error)
	// Finish converts the value that the function returned, or that its promise was resolved with. It runs in a turn
	// and inside goja's Try. It may panic with js.ResultError.
	Finish(c *Call, result goja.Value) Outcome
	// Fail returns the outcome of a call whose function failed.
	Fail(c *Call, f *Failure) Outcome
	// Displaced returns the outcome of a call that lost its VM and cannot be repeated.
	Displaced() Outcome
	// Source returns the text of the function that Start calls, or "" if it is unknown.
	Source(c *Call) string
	// Urgent reports whether the call must not wait for a VM, because a write waits for it.
	Urgent() bool
}

// Call is one execution of a function of a script on behalf of a request.
type Call struct {
	Service *Service
	Req     *service.Request
	work    Work
	ctx     context.Context // of the request
	start   time.Time

	out     Outcome       // valid when the call is answered
	done    chan *pending // buffered; receives an operation to run, or nil when out is set
	settled atomic.Bool   // out is set or about to be set
	Over    atomic.Bool   // the call has ended: it is answered, and does not go on after its answer
	begun   atomic.Bool   // the handler has been started
	Wrote   atomic.Bool   // the script called a method of the repository that writes

	mu     sync.Mutex
	inner  context.Context // ctx with the wall-time limit, for operations; created by Context
	cancel context.CancelFunc

	life    context.Context // see Lifetime
	endLife context.CancelFunc

	doing atomic.Bool // the goroutine of the request runs an operation
	after after       // used if the call goes on after its answer has begun

	Input *Input // body of the request that the script reads as a stream; nil if the body was read before the call

	VM     *VM
	locals []any // see LocalOf

	suspended *suspended // the functions of the call that wait for promises, the last one first; protected by VM.suspensions

	handed *pending // operation that the goroutine of the request runs, or nil; only accessed inside a turn

	cpu      atomic.Int64 // CPU time of the turns of the call, in nanoseconds
	reported atomic.Bool  // cpu has been added to the counters

	endMu sync.Mutex
	ends  []func() // cleanup functions, see AtEnd
}

// LocalOf returns the data of type *T that is kept for the call, and creates it at the first use. It may be used only
// inside a turn of the call.
func LocalOf[T any](c *Call) *T {
	for _, one := range c.locals {
		if t, ok := one.(*T); ok {
			return t
		}
	}
	t := new(T)
	c.locals = append(c.locals, t)
	return t
}

var callType = reflect.TypeFor[interface{ Call() *Call }]()

// CallOf returns the call that a req object of a script belongs to. It returns nil if v is not a req object.
func CallOf(v goja.Value) *Call {
	if o, ok := v.(*goja.Object); ok {
		if proto := o.Prototype(); proto != nil && proto.ExportType().Implements(callType) { // Export would call getters of others
			if fields, ok := proto.Export().(interface{ Call() *Call }); ok {
				return fields.Call()
			}
		}
	}
	return nil
}

// Run executes w on one of the VMs and returns its outcome. If the VM is discarded during the call, Run repeats the
// call on another VM, up to three times.
func (s *Service) Run(ctx context.Context, r *service.Request, w Work) (Outcome, error) {
	if !s.begun.Load() && s.begun.CompareAndSwap(false, true) {
		s.Begin()
	}
	if r.Account != nil && engine.AccountFrom(ctx) != r.Account {
		ctx = engine.WithAccount(ctx, r.Account)
	}
	start := time.Now()
	for attempt := 0; ; attempt++ {
		c := &Call{Service: s, Req: r, work: w, ctx: ctx, start: start, done: make(chan *pending, 2)}
		if streaming, ok := w.(inputWork); ok {
			c.Input = streaming.Input()
		}
		o, err := s.runOnce(c)
		switch {
		case o.again && attempt < 3:
			continue
		case o.again:
			o = w.Displaced()
		}
		s.Counters.countRequest(o, err)
		if err == nil {
			err = o.Err
		}
		return o, err
	}
}

// runOnce runs the call c on one VM and waits for its outcome.
func (g *Service) runOnce(c *Call) (Outcome, error) {
	v, err := g.acquireVM(c)
	if err != nil {
		return Outcome{}, err
	}
	c.VM = v
	if !v.addCall(c) {
		g.Group.release(v)
		return Outcome{again: true}, nil
	}
	if !v.Do(Task{c, c.runHandler}, false) {
		c.end()
		return Outcome{again: true}, nil
	}
	o := c.wait()
	if c.Over.Load() {
		c.end()
	} else {
		c.goOn()
	}
	return o, nil
}

// end removes the call from its VM and returns its slot.
func (c *Call) end() {
	v := c.VM
	v.removeCall(c)
	if c.after.gaveBack {
		v.Service.Group.forget(v)
	} else {
		v.Service.Group.release(v)
	}
}

// acquireVM takes a VM from the group. It waits at most until the wall-time limit of the call.
func (g *Service) acquireVM(c *Call) (*VM, error) {
	if c.work.Urgent() {
		return g.Group.acquireUrgent()
	}
	if v := g.Group.takeFree(); v != nil {
		return v, nil
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.start.Add(g.Limits.Wall))
	defer cancel()
	return g.Group.acquire(ctx)
}

// addCall registers c as a call of v. When v is discarded, each registered call is notified. It returns false if v
// has already been discarded.
func (v *VM) addCall(c *Call) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead {
		return false
	}
	v.calls[c] = struct{}{}
	return true
}

func (v *VM) removeCall(c *Call) {
	v.mu.Lock()
	delete(v.calls, c)
	v.mu.Unlock()
	c.Over.Store(true)
	c.cancelWork()
	c.mu.Lock()
	if c.endLife != nil {
		c.endLife()
	}
	c.mu.Unlock()
	c.runCleanups()
}

// cancelWork cancels the context of the operations of the call.
func (c *Call) cancelWork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// AtEnd registers f to run when the call has ended. f runs on a goroutine that runs no turn, so it may block. The
// returned function cancels the registration.
func (c *Call) AtEnd(f func()) (forget func()) {
	c.endMu.Lock()
	defer c.endMu.Unlock()
	i := len(c.ends)
	c.ends = append(c.ends, f)
	return func() {
		c.endMu.Lock()
		defer c.endMu.Unlock()
		if i < len(c.ends) {
			c.ends[i] = nil
		}
	}
}

// runCleanups runs the functions that AtEnd registered.
func (c *Call) runCleanups() {
	c.endMu.Lock()
	ends := c.ends
	c.ends = nil
	c.endMu.Unlock()
	for _, f := range ends {
		if f != nil {
			f()
		}
	}
}

// wait runs on the goroutine of the request and returns the outcome of the call. While it waits, it runs operations
// for the script: the goroutine is idle anyway, and its stack has already grown. If the time limit is reached or the
// client disconnects, wait sets the outcome itself.
func (c *Call) wait() Outcome {
	for {
		p := c.nextOperation()
		if p == nil {
			return c.out
		}
		c.doing.Store(true)
		if !c.Over.Load() {
			p.run(false)
		}
		c.doing.Store(false)
	}
}

// nextOperation waits for an operation to run. It returns nil when the call is over.
func (c *Call) nextOperation() *pending {
	select {
	case p := <-c.done:
		return p
	default:
	}
	t := time.NewTimer(time.Until(c.start.Add(c.Service.Limits.Wall)))
	defer t.Stop()
	for {
		select {
		case p := <-c.done:
			return p
		case <-t.C:
			if left := time.Until(c.limitAt()); left > 0 {
				t.Reset(min(left, c.Service.Limits.Wall)) // limitAt changes when the body has arrived
				continue
			}
		case <-c.ctx.Done():
		}
		c.endLate()
		return <-c.done
	}
}

// limitAt returns the time at which the wall-time limit is reached. While the body of the request arrives as a stream,
// this is the limit for streams. The limit of the call itself begins when the body is complete.
func (c *Call) limitAt() time.Time {
	l := &c.Service.Limits
	if c.Input == nil {
		return c.start.Add(l.Wall)
	}
	if ended := c.Input.endedAt(); !ended.IsZero() {
		return ended.Add(l.Wall)
	}
	return c.start.Add(l.StreamTime)
}

// endLate ends a call after its time limit, or after the client disconnected.
func (c *Call) endLate() {
	err := timeoutError(c.Service)
	if c.ctx.Err() == nil && !c.Over.Load() {
		err = c.logLate()
	}
	if c.finish(Outcome{Err: err}) {
		c.reportCPU()
	}
}

// handOver passes an operation to the goroutine of the request. It returns false if that goroutine already has an
// operation. It must be called inside a turn.
func (c *Call) handOver(p *pending) bool {
	if c.handed != nil || c.after.detached {
		return false
	}
	c.handed = p
	c.done <- p
	return true
}

// markReturned records that p has completed, so that handOver accepts another operation. It must be called inside a
// turn.
func (c *Call) markReturned(p *pending) {
	if c.handed == p {
		c.handed = nil
	}
}

func timeoutError(g *Service) error {
	return engine.Errorf(engine.Timeout, "timeout", "service %s did not answer in time", g.Name)
}

// finish sets the outcome and ends the call. It returns false if the call already has an outcome, which then stays.
// If the goroutine of the request is running an operation, finish cancels the context of the operation.
func (c *Call) finish(o Outcome) bool {
	if !c.settled.CompareAndSwap(false, true) {
		return false
	}
	c.Over.Store(true)
	c.out = o
	c.done <- nil
	if c.doing.Load() {
		c.cancelWork()
	}
	return true
}

// fail ends the call with the outcome for f, or with a timeout error if the time limit has been reached.
func (c *Call) fail(f *Failure) {
	switch {
	case c.Over.Load():
	case c.after.active.Load():
		c.failAfter(f)
	case !time.Now().Before(c.limitAt()): // the time limit caused the failure
		c.finish(Outcome{Err: timeoutError(c.Service)})
	default:
		c.finish(c.work.Fail(c, f))
	}
}

// handleDiscard ends the call after its VM was discarded. Run then repeats the call, unless the call may have changed
// data.
func (c *Call) handleDiscard() {
	if c.after.active.Load() {
		c.failAfter(errDiscarded)
		return
	}
	if c.begun.Load() && (c.Wrote.Load() || c.Req.Method != http.MethodGet && c.Req.Method != http.MethodHead) {
		c.finish(c.work.Displaced())
		return
	}
	c.finish(Outcome{again: true})
}

// Context returns the context for operations of the call, such as queries. It is cancelled when the call ends or when
// the wall-time limit is reached.
func (c *Call) Context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil && c.Input != nil {
		c.inner, c.cancel = context.WithCancel(c.ctx) // limitAt changes, so wait enforces it
	}
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(c.ctx, c.start.Add(c.Service.Limits.Wall))
	}
	if c.Over.Load() {
		c.cancel()
	}
	return c.inner
}

// Lifetime returns a context that is cancelled when the call ends. Unlike Context, it has no time limit of its own, so
// that connections can stay open while the call goes on after its answer.
func (c *Call) Lifetime() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == nil {
		c.life, c.endLife = context.WithCancel(context.WithoutCancel(c.ctx))
		if c.Over.Load() {
			c.endLife()
		}
	}
	return c.life
}

// runHandler is the first turn of the call. It calls Work.Start. If Start returns a promise, the call is answered
// when the promise settles, and otherwise at once.
func (c *Call) runHandler() error {
	if c.Over.Load() {
		return nil
	}
	c.begun.Store(true)
	v := c.VM
	v.Service.Counters.queueWait.observe(v.Clock.start.Sub(c.start))
	ret, err := c.work.Start(c)
	if err != nil {
		return v.settleError(c, err)
	}
	p, ok := js.PromiseOf(ret)
	if !ok {
		if p, ok, err = v.AdoptThenable(ret); err != nil {
			return v.settleError(c, err)
		}
	}
	if !ok {
		return v.answerCall(c, ret)
	}
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return v.answerCall(c, p.Result())
	case goja.PromiseStateRejected:
		delete(v.Rejected, p)
		c.fail(v.DescribeThrown(p.Result(), nil))
		return nil
	}
	return v.await(c, p)
}

// settleError ends the call c with the error err. If scripts cannot catch err, settleError returns it instead, so that
// the turn is aborted.
func (v *VM) settleError(c *Call, err error) error {
	if IsUncatchable(err) {
		return err
	}
	c.fail(v.DescribeError(err))
	return nil
}

// await ends the call c when the promise p settles. All calls of a VM share two callbacks. A callback finds its call
// in the asynchronous context (VM.Call), so that no closure is needed for each call.
func (v *VM) await(c *Call, p *goja.Promise) error {
	if v.onFulfilled == nil {
		v.onFulfilled = v.JS.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := v.Call; c != nil && !c.Over.Load() {
				js.Must(v.answerCall(c, fc.Argument(0)))
			}
			return goja.Undefined()
		})
		v.onRejected = v.JS.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := v.Call; c != nil {
				c.fail(v.DescribeThrown(fc.Argument(0), nil))
			}
			return goja.Undefined()
		})
	}
	v.Call = c
	_, err := v.ThenFn(v.JS.ToValue(p), v.onFulfilled, v.onRejected)
	return err
}

// answerCall converts result, the value that a handler returned, to the outcome of c and ends the call. It returns an
// error only if scripts cannot catch the error.
func (v *VM) answerCall(c *Call, result goja.Value) (err error) {
	v.Call = c
	var o Outcome
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		bad, ok := x.(js.ResultError)
		if !ok {
			panic(x)
		}
		c.fail(&Failure{Message: string(bad)})
	}()
	ex := v.JS.Try(func() { o = c.work.Finish(c, result) })
	if ex != nil {
		c.fail(v.DescribeThrown(ex.Value(), ex))
		return nil
	}
	if why := v.Clock.expired(); why != nil {
		c.fail(v.describeAbort(nil, why))
		return nil
	}
	v.Tally.flush(v.Service.Counters) // flush first, so that the metrics include the call when the client gets the answer
	if o.Stream != nil || c.after.works && c.after.hasWork() {
		c.answerAndGoOn(o)
	} else {
		c.finish(o)
	}
	return nil
}
