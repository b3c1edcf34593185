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

// outcome is how a call ended.
type outcome struct {
	response *engine.Response
	err      error
	again    bool // the VM went away under it: run it once more
	data     any  // what a job made, decoded
	none     bool // a job returned nothing

	displaced bool // the VM went away under it, and it cannot be run again
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

	out   outcome       // once it is over
	done  chan *pending // buffered: nil for out, and before it one thing to do
	over  atomic.Bool   // has an outcome
	begun atomic.Bool
	wrote atomic.Bool // asked the repository to change something

	mu     sync.Mutex
	work   context.Context // ctx with the wall-time limit, made when first needed
	cancel context.CancelFunc

	doing atomic.Bool // its goroutine does what it was handed

	vm  *vm
	obj *goja.Object // the req object of the handler
	js  requestCache

	handed *pending // to its goroutine, nil for nothing; only inside a turn

	cpu      atomic.Int64 // nanoseconds of its turns
	reported atomic.Bool  // cpu is counted

	endMu sync.Mutex
	ends  []func() // what it leaves behind, see atEnd

	claims claims
	logged int // bytes, see maxLogged

	console consoleState
}

// serve runs a request of one route. It is the engine.Handler of that route.
func (g *Generation) serve(ctx context.Context, r *engine.Request, route int) (*engine.Response, error) {
	body, err := g.readBody(ctx, r)
	defer body.close()
	if err != nil {
		return nil, err
	}
	o, err := g.run(ctx, r, route, body, nil)
	if err != nil {
		return nil, err
	}
	return o.response, o.err
}

// run calls a handler of the script, a few times when VMs go away under it.
func (g *Generation) run(ctx context.Context, r *engine.Request, route int, b body, j *job) (outcome, error) {
	if r.Account != nil && engine.AccountFrom(ctx) != r.Account {
		ctx = engine.WithAccount(ctx, r.Account)
	}
	start := time.Now()
	for attempt := 0; ; attempt++ {
		c := &call{gen: g, route: route, req: r, body: b, job: j, ctx: ctx, start: start, done: make(chan *pending, 2)}
		o, err := g.attempt(c)
		switch {
		case o.again && attempt < 3:
			continue
		case o.again:
			o = c.gone()
		}
		g.lasting.counters.ended(o, err)
		if err == nil {
			err = o.err
		}
		return o, err
	}
}

// attempt runs c on one VM and waits for its outcome.
func (g *Generation) attempt(c *call) (outcome, error) {
	v, err := g.acquire(c)
	if err != nil {
		return outcome{}, err
	}
	defer g.group.release(v)
	c.vm = v
	if !v.enter(c) {
		return outcome{again: true}, nil
	}
	defer v.exit(c)
	if !v.do(task{c, c.run}, false) {
		return outcome{again: true}, nil
	}
	return c.wait(), nil
}

// acquire takes a VM, within the time limit of the call.
func (g *Generation) acquire(c *call) (*vm, error) {
	if c.job != nil && c.job.event != nil {
		return g.group.urgent()
	}
	if v := g.group.take(); v != nil {
		return v, nil
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.start.Add(g.limits.Wall))
	defer cancel()
	return g.group.acquire(ctx)
}

// enter makes c known to v, so that it hears when v is condemned.
func (v *vm) enter(c *call) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead {
		return false
	}
	v.calls[c] = struct{}{}
	return true
}

func (v *vm) exit(c *call) {
	v.mu.Lock()
	delete(v.calls, c)
	v.mu.Unlock()
	c.over.Store(true)
	c.stop()
	c.leaves()
}

// stop ends the context of its repository calls.
func (c *call) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// atEnd has f run when c has ended, on a goroutine where no turn runs. The
// function returned takes it back.
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

// leaves runs what atEnd was told.
func (c *call) leaves() {
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

// wait returns the outcome, or makes one when the time is up or the client has
// gone. Meanwhile it does what the script hands over to it: the goroutine waits
// anyway, and its stack has grown already.
func (c *call) wait() outcome {
	for {
		p := c.next()
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

// next waits for something to do; nil for the outcome.
func (c *call) next() *pending {
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
	c.late()
	return <-c.done
}

// late ends a call whose time is up, or whose client has gone.
func (c *call) late() {
	if c.finish(outcome{err: timeout(c.gen)}) {
		c.reportCPU()
	}
}

// hand leaves an operation to the goroutine of the call, inside a turn; false
// when that one has something to do already.
func (c *call) hand(p *pending) bool {
	if c.handed != nil {
		return false
	}
	c.handed = p
	c.done <- p
	return true
}

// took notes, inside a turn, that an operation has come back.
func (c *call) took(p *pending) {
	if c.handed == p {
		c.handed = nil
	}
}

func timeout(g *Generation) error {
	return engine.Errorf(engine.Timeout, "timeout", "service %s did not answer in time", g.name)
}

// finish sets the outcome; the first one counts, of which it reports true. What
// the goroutine of the call does then is of no use any more.
func (c *call) finish(o outcome) bool {
	if !c.over.CompareAndSwap(false, true) {
		return false
	}
	c.out = o
	c.done <- nil
	if c.doing.Load() {
		c.stop()
	}
	return true
}

func (c *call) fail(f *Failure) {
	switch {
	case c.over.Load():
	case !time.Now().Before(c.start.Add(c.gen.limits.Wall)): // the failure comes of that
		c.finish(outcome{err: timeout(c.gen)})
	case c.job != nil:
		c.finish(outcome{err: c.failedJob(f)})
	default:
		c.finish(c.gen.failed(c.req, f))
	}
}

// displaced is called when the VM of c is gone.
func (c *call) displaced() {
	if c.begun.Load() && (c.wrote.Load() || c.req.Method != http.MethodGet && c.req.Method != http.MethodHead) {
		c.finish(c.gone())
		return
	}
	c.finish(outcome{again: true})
}

// gone is the outcome of a call that cannot be run again.
func (c *call) gone() outcome {
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

// context returns the context of repository calls: it ends with the call and
// with its wall-time limit.
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

// run starts the handler; it is the first turn of the call.
func (c *call) run() error {
	if c.over.Load() {
		return nil
	}
	c.begun.Store(true)
	v := c.vm
	v.gen.lasting.counters.queueWait.observe(v.clock.start.Sub(c.start))
	route := v.handlerOf(c)
	c.obj = v.host.request(c)
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
		return v.answer(c, ret)
	}
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return v.answer(c, p.Result())
	case goja.PromiseStateRejected:
		delete(v.rejected, p)
		c.fail(v.describeThrown(p.Result(), nil))
		return nil
	}
	return v.host.await(c, p)
}

// settleError fails c with what the engine returned; what no script can catch
// is passed on.
func (v *vm) settleError(c *call, err error) error {
	if uncatchable(err) {
		return err
	}
	c.fail(v.describeError(err))
	return nil
}

// must passes on what no script can catch from inside a callback.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
