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
	data     any  // decoded result of a job
	none     bool // the job returned undefined

	displaced bool // the VM was discarded during the call, and the call cannot be repeated
}

// call is one run of a handler.
type call struct {
	gen   *Generation
	route int
	req   *engine.Request
	body  body
	job   *job            // nil for a route
	ctx   context.Context // of the request
	start time.Time

	out   outcome       // valid when the call is over
	done  chan *pending // buffered; receives an operation to run, or nil when out is set
	over  atomic.Bool   // out is set
	begun atomic.Bool
	wrote atomic.Bool // called a method of the repository that writes

	mu     sync.Mutex
	work   context.Context // ctx with the wall-time limit; made on first use
	cancel context.CancelFunc

	doing atomic.Bool // the goroutine of the call runs an operation

	vm  *vm
	obj *goja.Object // the req object of the handler
	js  requestCache

	handed *pending // operation handed to the goroutine of the call, or nil; only accessed inside a turn

	cpu      atomic.Int64 // CPU time of its turns, in nanoseconds
	reported atomic.Bool  // cpu has been added to the counters

	endMu sync.Mutex
	ends  []func() // cleanup functions, see atEnd

	claims claims
	logged int // bytes, see maxLogged

	console consoleState
}

// serveRoute runs a request of one route. It is the engine.Handler of the route.
func (g *Generation) serveRoute(ctx context.Context, r *engine.Request, route int) (*engine.Response, error) {
	body, err := g.readBody(ctx, r)
	defer body.close()
	if err != nil {
		return nil, err
	}
	o, err := g.runCall(ctx, r, route, body, nil)
	if err != nil {
		return nil, err
	}
	return o.response, o.err
}

// runCall calls a handler of the script. If the VM is discarded during the call, it repeats the call up to three times.
func (g *Generation) runCall(ctx context.Context, r *engine.Request, route int, b body, j *job) (outcome, error) {
	if !g.answers.Load() && g.answers.CompareAndSwap(false, true) {
		g.lasting.store.resize(g.limits.Shared)
	}
	if r.Account != nil && engine.AccountFrom(ctx) != r.Account {
		ctx = engine.WithAccount(ctx, r.Account)
	}
	start := time.Now()
	for attempt := 0; ; attempt++ {
		c := &call{gen: g, route: route, req: r, body: b, job: j, ctx: ctx, start: start, done: make(chan *pending, 2)}
		o, err := g.runOnce(c)
		switch {
		case o.again && attempt < 3:
			continue
		case o.again:
			o = c.discardOutcome()
		}
		g.lasting.counters.countRequest(o, err)
		if err == nil {
			err = o.err
		}
		return o, err
	}
}

// runOnce runs c on one VM and waits for its outcome.
func (g *Generation) runOnce(c *call) (outcome, error) {
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
func (g *Generation) acquireVM(c *call) (*vm, error) {
	if c.job != nil && c.job.event != nil {
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
	t := time.NewTimer(time.Until(c.start.Add(c.gen.limits.Wall)))
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
	if c.finish(outcome{err: timeoutError(c.gen)}) {
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

func timeoutError(g *Generation) error {
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
	case !time.Now().Before(c.start.Add(c.gen.limits.Wall)): // the time limit caused the failure
		c.finish(outcome{err: timeoutError(c.gen)})
	case c.job != nil:
		c.finish(outcome{err: c.failedJob(f)})
	default:
		c.finish(c.gen.failureOutcome(c.req, f))
	}
}

// handleDiscard is called when the VM of c was discarded. The call is repeated unless it may have changed something.
func (c *call) handleDiscard() {
	if c.begun.Load() && (c.wrote.Load() || c.req.Method != http.MethodGet && c.req.Method != http.MethodHead) {
		c.finish(c.discardOutcome())
		return
	}
	c.finish(outcome{again: true})
}

// discardOutcome returns the outcome of a call that cannot be repeated.
func (c *call) discardOutcome() outcome {
	if c.job != nil {
		return outcome{displaced: true, err: engine.Errorf(engine.Unavailable, "script", "the service was restarted, try again")}
	}
	return outcome{displaced: true, response: displacedResponse()}
}

func displacedResponse() *engine.Response {
	r := text(http.StatusServiceUnavailable, "the service was restarted, try again")
	r.SetHeader("Retry-After", "0")
	return r
}

// context returns the context of repository calls. It ends with the call or when the wall-time limit is reached.
func (c *call) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.work == nil {
		c.work, c.cancel = context.WithDeadline(c.ctx, c.start.Add(c.gen.limits.Wall))
		if c.over.Load() {
			c.cancel()
		}
	}
	return c.work
}

// runHandler starts the handler. It is the first turn of the call.
func (c *call) runHandler() error {
	if c.over.Load() {
		return nil
	}
	c.begun.Store(true)
	v := c.vm
	v.gen.lasting.counters.queueWait.observe(v.clock.start.Sub(c.start))
	route := v.handlerOf(c)
	c.obj = v.host.requestObject(c)
	var ret goja.Value
	var err error
	if c.job == nil {
		ret, err = route.handler(route.this, c.obj)
	} else {
		ret, err = route.handler(route.this, c.job.argument(c), c.obj)
	}
	if err != nil {
		return v.settleError(c, err)
	}
	p, ok := promiseOf(ret)
	if !ok {
		if p, ok, err = v.host.adoptThenable(ret); err != nil {
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
	return v.host.await(c, p)
}

// settleError fails c with an error of the engine. It returns errors that scripts cannot catch.
func (v *vm) settleError(c *call, err error) error {
	if isUncatchable(err) {
		return err
	}
	c.fail(v.describeError(err))
	return nil
}

// must panics with an error that scripts cannot catch. It is used in callbacks of the engine.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
