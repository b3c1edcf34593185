package script

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// outcome is the result of a call.
type outcome struct {
	response *engine.Response
	err      error
	again    bool // the VM was discarded during the call; run the call again
	data     any  // decoded result of work that has no response
	none     bool // the function returned undefined

	displaced bool // the VM was discarded during the call, and the call cannot be repeated
}

// work is what a call runs: the handler of a route, of an event or of a test, or a function of a converter.
type work interface {
	// Start calls the function of the script, in the first turn of the call.
	Start(c *call) (goja.Value, error)
	// Finish converts the result of the function, in a turn and inside goja's Try. It may panic with errResult.
	Finish(c *call, result goja.Value) outcome
	// Fail returns the outcome of a call whose function failed.
	Fail(c *call, f *Failure) outcome
	// Displaced returns the outcome of a call that lost its VM and cannot be repeated.
	Displaced() outcome
	// Urgent reports whether the call must not wait for a VM, because a write waits for it.
	Urgent() bool
}

// call is one run of a function of a script, for a request.
type call struct {
	service *vmService
	req     *engine.Request
	work    work
	ctx     context.Context // of the request
	start   time.Time

	out   outcome       // valid when the call is over
	done  chan *pending // buffered; receives an operation to run, or nil when out is set
	over  atomic.Bool   // out is set
	begun atomic.Bool
	wrote atomic.Bool // called a method of the repository that writes

	mu     sync.Mutex
	inner  context.Context // ctx with the wall-time limit; made on first use
	cancel context.CancelFunc

	doing atomic.Bool // the goroutine of the call runs an operation

	vm     *vm
	locals []any // see localOf

	handed *pending // operation handed to the goroutine of the call, or nil; only accessed inside a turn

	cpu      atomic.Int64 // CPU time of its turns, in nanoseconds
	reported atomic.Bool  // cpu has been added to the counters

	endMu sync.Mutex
	ends  []func() // cleanup functions, see atEnd
}

// localOf returns the T that belongs to a call, a new one at first. It may be used only inside a turn of the call.
func localOf[T any](c *call) *T {
	for _, one := range c.locals {
		if t, ok := one.(*T); ok {
			return t
		}
	}
	t := new(T)
	c.locals = append(c.locals, t)
	return t
}

// callOf returns the call of a req object, or nil if v is no such object.
func callOf(v goja.Value) *call {
	if o, ok := v.(*goja.Object); ok {
		if proto := o.Prototype(); proto != nil {
			if fields, ok := proto.Export().(interface{ Call() *call }); ok {
				return fields.Call()
			}
		}
	}
	return nil
}

// run runs work on one of the VMs. If the VM is discarded during the call, it repeats the call up to three times.
func (s *vmService) run(ctx context.Context, r *engine.Request, w work) (outcome, error) {
	if !s.begun.Load() && s.begun.CompareAndSwap(false, true) {
		s.begin()
	}
	if r.Account != nil && engine.AccountFrom(ctx) != r.Account {
		ctx = engine.WithAccount(ctx, r.Account)
	}
	start := time.Now()
	for attempt := 0; ; attempt++ {
		c := &call{service: s, req: r, work: w, ctx: ctx, start: start, done: make(chan *pending, 2)}
		o, err := s.runOnce(c)
		switch {
		case o.again && attempt < 3:
			continue
		case o.again:
			o = w.Displaced()
		}
		s.counters.countRequest(o, err)
		if err == nil {
			err = o.err
		}
		return o, err
	}
}

// runOnce runs c on one VM and waits for its outcome.
func (g *vmService) runOnce(c *call) (outcome, error) {
	v, err := g.acquireVM(c)
	if err != nil {
		return outcome{}, err
	}
	defer g.group.release(v)
	c.vm = v
	if !v.addCall(c) {
		return outcome{again: true}, nil
	}
	defer v.removeCall(c)
	if !v.do(task{c, c.runHandler}, false) {
		return outcome{again: true}, nil
	}
	return c.wait(), nil
}

// acquireVM takes a VM from the group, within the wall-time limit of the call.
func (g *vmService) acquireVM(c *call) (*vm, error) {
	if c.work.Urgent() {
		return g.group.acquireUrgent()
	}
	if v := g.group.takeFree(); v != nil {
		return v, nil
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.start.Add(g.limits.Wall))
	defer cancel()
	return g.group.acquire(ctx)
}

// addCall adds c to the calls of v, so that c is notified when v is discarded. It returns false if v is discarded
// already.
func (v *vm) addCall(c *call) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead {
		return false
	}
	v.calls[c] = struct{}{}
	return true
}

func (v *vm) removeCall(c *call) {
	v.mu.Lock()
	delete(v.calls, c)
	v.mu.Unlock()
	c.over.Store(true)
	c.cancelWork()
	c.runCleanups()
}

// cancelWork cancels the context of the repository calls.
func (c *call) cancelWork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// atEnd registers a function to run when c has ended, on a goroutine that runs no turn. The returned function
// cancels the registration.
func (c *call) atEnd(f func()) (forget func()) {
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

// runCleanups runs the functions that were registered by atEnd.
func (c *call) runCleanups() {
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

// wait returns the outcome of the call. If the time limit is reached or the client disconnects, it sets the outcome
// itself. Until then it runs operations of the script, because the goroutine is idle anyway and its stack has
// already grown.
func (c *call) wait() outcome {
	for {
		p := c.nextOperation()
		if p == nil {
			return c.out
		}
		c.doing.Store(true)
		if !c.over.Load() {
			p.run(false)
		}
		c.doing.Store(false)
	}
}

// nextOperation waits for an operation. It returns nil when the call is over.
func (c *call) nextOperation() *pending {
	select {
	case p := <-c.done:
		return p
	default:
	}
	t := time.NewTimer(time.Until(c.start.Add(c.service.limits.Wall)))
	defer t.Stop()
	select {
	case p := <-c.done:
		return p
	case <-t.C:
	case <-c.ctx.Done():
	}
	c.endLate()
	return <-c.done
}

// endLate ends a call after its time limit, or after the client disconnected.
func (c *call) endLate() {
	if c.finish(outcome{err: timeoutError(c.service)}) {
		c.reportCPU()
	}
}

// handOver passes an operation to the goroutine of the call. It returns false if that goroutine has one already. It must
// be called inside a turn.
func (c *call) handOver(p *pending) bool {
	if c.handed != nil {
		return false
	}
	c.handed = p
	c.done <- p
	return true
}

// markReturned records that an operation has completed. It must be called inside a turn.
func (c *call) markReturned(p *pending) {
	if c.handed == p {
		c.handed = nil
	}
}

func timeoutError(g *vmService) error {
	return engine.Errorf(engine.Timeout, "timeout", "service %s did not answer in time", g.name)
}

// finish sets the outcome and reports whether it was the first to do so; later outcomes are ignored. If the
// goroutine of the call runs an operation, finish cancels its context.
func (c *call) finish(o outcome) bool {
	if !c.over.CompareAndSwap(false, true) {
		return false
	}
	c.out = o
	c.done <- nil
	if c.doing.Load() {
		c.cancelWork()
	}
	return true
}

func (c *call) fail(f *Failure) {
	switch {
	case c.over.Load():
	case !time.Now().Before(c.start.Add(c.service.limits.Wall)): // the time limit caused the failure
		c.finish(outcome{err: timeoutError(c.service)})
	default:
		c.finish(c.work.Fail(c, f))
	}
}

// handleDiscard is called when the VM of c was discarded. The call is repeated unless it may have changed something.
func (c *call) handleDiscard() {
	if c.begun.Load() && (c.wrote.Load() || c.req.Method != http.MethodGet && c.req.Method != http.MethodHead) {
		c.finish(c.work.Displaced())
		return
	}
	c.finish(outcome{again: true})
}

// context returns the context of repository calls. It ends with the call or when the wall-time limit is reached.
func (c *call) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(c.ctx, c.start.Add(c.service.limits.Wall))
		if c.over.Load() {
			c.cancel()
		}
	}
	return c.inner
}

// runHandler starts the handler. It is the first turn of the call.
func (c *call) runHandler() error {
	if c.over.Load() {
		return nil
	}
	c.begun.Store(true)
	v := c.vm
	v.service.counters.queueWait.observe(v.clock.start.Sub(c.start))
	ret, err := c.work.Start(c)
	if err != nil {
		return v.settleError(c, err)
	}
	p, ok := promiseOf(ret)
	if !ok {
		if p, ok, err = v.adoptThenable(ret); err != nil {
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
		delete(v.rejected, p)
		c.fail(v.describeThrown(p.Result(), nil))
		return nil
	}
	return v.await(c, p)
}

// settleError fails c with an error of the engine. It returns errors that scripts cannot catch.
func (v *vm) settleError(c *call, err error) error {
	if isUncatchable(err) {
		return err
	}
	c.fail(v.describeError(err))
	return nil
}

// await answers c when p settles. All calls share the callbacks, which find the call in the asynchronous context.
func (v *vm) await(c *call, p *goja.Promise) error {
	if v.onFulfilled == nil {
		v.onFulfilled = v.js.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := v.cur; c != nil && !c.over.Load() {
				must(v.answerCall(c, fc.Argument(0)))
			}
			return goja.Undefined()
		})
		v.onRejected = v.js.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := v.cur; c != nil {
				c.fail(v.describeThrown(fc.Argument(0), nil))
			}
			return goja.Undefined()
		})
	}
	v.cur = c
	_, err := v.thenFn(v.js.ToValue(p), v.onFulfilled, v.onRejected)
	return err
}

// answerCall converts the value that a handler returned to the outcome of its
// call. It returns an error that scripts cannot catch.
func (v *vm) answerCall(c *call, result goja.Value) (err error) {
	v.cur = c
	var o outcome
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		bad, ok := x.(errResult)
		if !ok {
			panic(x)
		}
		c.fail(&Failure{Message: string(bad)})
	}()
	ex := v.js.Try(func() { o = c.work.Finish(c, result) })
	if ex != nil {
		c.fail(v.describeThrown(ex.Value(), ex))
		return nil
	}
	if why := v.clock.expired(); why != nil {
		c.fail(v.describeAbort(nil, why))
		return nil
	}
	v.tally.flush(v.service.counters) // flush first, so that the metrics include the call when the client gets the answer
	c.finish(o)
	return nil
}
