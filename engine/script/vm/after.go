package vm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/share"
)

// after is the state of a call that goes on after its answer has begun: it sends a stream, or finishes work that the
// script passed to req.waitUntil. Such a call gives back its slot, so that it does not count among the calls that run
// on its VM at a time. Its number is limited by Places instead.
type after struct {
	active   atomic.Bool // the call goes on after its answer
	stream   *Stream
	gaveBack bool // the slot was returned to the group

	// The following fields may be used only inside a turn.
	detached bool // operations of the call run on goroutines of their own
	works    bool // the script has called req.waitUntil

	mu      sync.Mutex
	pending int           // promises passed to req.waitUntil that have not settled
	failed  bool          // the promises will not settle
	idle    chan struct{} // closed when the work is over; nil while the call is not waiting for it
}

// errDiscarded is the reason why a call ended after its answer had begun: its VM was discarded.
var errDiscarded = &Failure{Message: "the VM was discarded because of another request"}

// errReplaced is the reason why the stream of an old version of a service ended.
var errReplaced = errors.New("the service was reloaded, and the time streamGrace is over")

// Places limits how many calls go on after their answers, for the versions of a service together.
type Places struct {
	mu    sync.Mutex
	total int
	byKey map[string]int
}

// take takes a place for a key, such as an account. The error is Unavailable if most places are taken, and TooMany if
// the key has mostOfKey places.
func (p *Places) take(kind, key string, most, mostOfKey int) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.byKey[key] >= mostOfKey:
		return nil, &engine.Error{Code: engine.TooMany, Reason: kind, RetryAfter: time.Second,
			Message: "the account has too many " + kind + " at the same time"}
	case p.total >= most:
		return nil, &engine.Error{Code: engine.Unavailable, Reason: kind, RetryAfter: time.Second,
			Message: "the service has too many " + kind + " at the same time"}
	}
	if p.byKey == nil {
		p.byKey = map[string]int{}
	}
	p.total++
	p.byKey[key]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.total--
		if p.byKey[key]--; p.byKey[key] == 0 {
			delete(p.byKey, key)
		}
	}), nil
}

// Count returns the number of places that are taken.
func (p *Places) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// takePlace takes a place for the call. The call gives it back at its end, or earlier with leave.
func (c *Call) takePlace(p *Places, kind string, most, mostOfKey int) (leave func(), err error) {
	if leave, err = p.take(kind, share.Key(c.ctx), most, mostOfKey); err == nil {
		c.AtEnd(leave)
	}
	return leave, err
}

// Detach makes operations of the call run on goroutines of their own, because the goroutine of the request will be
// needed for the answer. It must be called inside a turn.
func (c *Call) Detach() { c.after.detached = true }

// WaitUntil makes the call go on after its answer until the promise settles. It must be called inside a turn. The
// error is TooMany or Unavailable if too many calls do so.
func (c *Call) WaitUntil(promise goja.Value) error {
	v := c.VM
	l, a := &v.Service.Limits, &c.after
	c.Detach()
	a.mu.Lock()
	pending := a.pending
	a.mu.Unlock()
	if pending >= l.WorkPromises {
		return engine.Errorf(engine.TooMany, "works", "req.waitUntil: a request has at most %d promises at a time", l.WorkPromises)
	}
	if !a.works {
		if _, err := c.takePlace(&v.Service.Counters.Works, "works", l.Works, l.AccountWorks); err != nil {
			return err
		}
		a.works = true
	}
	p, err := v.Resolve(v.Promise, promise)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.pending++
	a.mu.Unlock()
	v.Service.Counters.worksBegun.Add(1)
	settle := func(goja.FunctionCall) goja.Value {
		a.settleOne()
		return goja.Undefined()
	}
	_, err = v.ThenFn(p, v.JS.ToValue(settle), v.JS.ToValue(func(fc goja.FunctionCall) goja.Value {
		v.Service.Counters.worksFailed.Add(1)
		v.Service.Log.Error("a promise that was passed to req.waitUntil was rejected", v.Service.FailureArgs(v.DescribeThrown(fc.Argument(0), nil), "request", c.Req.ID)...)
		return settle(fc)
	}))
	return err
}

func (a *after) settleOne() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending--; a.pending == 0 {
		a.endWait()
	}
}

// endWait ends the wait of finishWork. The caller must hold a.mu.
func (a *after) endWait() {
	if a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

// hasWork reports whether the call has promises of req.waitUntil that have not settled.
func (a *after) hasWork() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending > 0
}

// answerAndGoOn sets the outcome of a call without ending the call. It must be called inside a turn.
func (c *Call) answerAndGoOn(o Outcome) {
	if !c.settled.CompareAndSwap(false, true) {
		return // the time limit was reached, and the call ends
	}
	c.Detach()
	c.after.stream = o.Stream
	c.after.active.Store(true)
	c.out = o
	c.done <- nil
}

// goOn runs on the goroutine of the request after the answer has been delivered. If there is a stream, Stream.Close
// continues; otherwise a goroutine finishes the work of req.waitUntil.
func (c *Call) goOn() {
	c.after.gaveBack = c.Service.Group.giveBack(c.VM)
	if c.after.stream != nil {
		c.renewContext(c.ctx)
		return
	}
	go c.finishWork()
}

// renewContext gives operations that start from now on a context without the wall-time limit.
func (c *Call) renewContext(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.cancel
	inner, cancel := context.WithCancel(ctx)
	c.inner, c.cancel = inner, func() {
		cancel()
		if before != nil {
			before()
		}
	}
}

// finishWork waits until the promises of req.waitUntil have settled, and ends the call. The work does not end with the
// request of the client, but has a time limit of its own.
func (c *Call) finishWork() {
	defer c.end()
	a := &c.after
	ctx, staging := engine.WithStaging(context.WithoutCancel(c.ctx))
	defer staging.End()
	c.renewContext(ctx)
	a.mu.Lock()
	idle := make(chan struct{})
	if a.idle = idle; a.pending == 0 || a.failed {
		a.endWait()
	}
	a.mu.Unlock()
	limit := time.NewTimer(c.Service.Limits.WorkTime)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
		c.Service.Counters.worksEnded.Add(1)
		c.Service.Log.Warn("work of req.waitUntil was ended at its time limit", "request", c.Req.ID, "path", c.Req.Path, "workTime", c.Service.Limits.WorkTime)
	}
}

// failAfter ends a call after its answer has begun. The client sees a broken connection if the answer is a stream.
func (c *Call) failAfter(f *Failure) {
	if s := c.after.stream; s != nil && !s.closed.Load() {
		s.source.fail(f)
		s.source.notify()
		return
	}
	a := &c.after
	a.mu.Lock()
	a.failed = true
	a.endWait()
	a.mu.Unlock()
	c.Service.Log.Error("the work of req.waitUntil failed", c.Service.FailureArgs(f, "request", c.Req.ID)...)
}

// Ending tells the calls of a service that go on after their answers that the service or the server ends.
type Ending struct {
	once sync.Once
	ch   chan struct{}
}

// NewEnding returns an Ending that has not begun.
func NewEnding() *Ending { return &Ending{ch: make(chan struct{})} }

// Begin begins the end.
func (e *Ending) Begin() { e.once.Do(func() { close(e.ch) }) }

// begun returns a channel that is closed when the end begins. e may be nil.
func (e *Ending) begun() <-chan struct{} {
	if e == nil {
		return nil
	}
	return e.ch
}
