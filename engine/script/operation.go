package script

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// active returns the call in whose asynchronous context a script acts, and
// throws when there is none.
func (h *host) active(what string) *call {
	c := h.v.cur
	if c == nil || c.over.Load() {
		panic(h.newError(what+" acts for the account of a request: it cannot be called while the service loads, nor after the request was answered", "no-request"))
	}
	h.inTime()
	return c
}

// inTime ends a turn that must have no effect any more: it may act on what a
// regular expression told that had given up.
func (h *host) inTime() {
	if why := h.v.clock.expired(); why != nil {
		h.js.Interrupt(why) // not to be caught, unlike the error
		panic(h.newError(why.Error(), nil))
	}
}

// operation is a repository call: its arguments are checked and copied before
// do runs outside of the VM's turns; what do returns builds the result, again
// in a turn of the VM.
type operation struct {
	writes bool
	prompt bool            // it ends when its context does: the goroutine of the call may do it
	ctx    context.Context // what do gets; nil for that of the call, or of the transaction it is in
	do     func(ctx context.Context) (func() goja.Value, error)
}

// async runs an operation and returns a promise of its result.
func (h *host) async(name string, prepare func(call goja.FunctionCall) (operation, error)) func(goja.FunctionCall) goja.Value {
	return func(fc goja.FunctionCall) goja.Value {
		c := h.active(name)
		op, err := prepare(fc)
		h.v.tally.awaits++
		promise, resolve, reject := h.js.NewPromise()
		p := &pending{h: h, call: c, operation: op, where: h.where(), resolve: resolve, reject: reject}
		if err != nil {
			must(reject(h.errorOf(err, p.where)))
			return h.js.ToValue(promise)
		}
		if op.writes {
			c.wrote.Store(true)
		}
		if p.ctx == nil {
			p.ctx = h.context(c)
		}
		if !op.prompt || !c.hand(p) {
			go p.run(true)
		}
		return h.js.ToValue(promise)
	}
}

// pending is an operation that a call waits for.
type pending struct {
	operation
	h       *host
	call    *call
	where   []goja.StackFrame // the lines of the script that asked for it
	resolve func(any) error
	reject  func(any) error
}

// run does the operation and brings the turn that settles its promise; for
// patient see vm.do.
func (p *pending) run(patient bool) {
	build, err := runOperation(p.ctx, p.operation)
	if c := p.call; !patient && p.ctx.Err() != nil {
		c.late() // while it was busy here it heard of nothing else
		return
	}
	p.h.v.do(task{p.call, func() error { return p.settle(build, err) }}, patient)
}

// settle is that turn.
func (p *pending) settle(build func() goja.Value, err error) error {
	h, c := p.h, p.call
	c.took(p)
	if c.over.Load() {
		return nil
	}
	if err != nil {
		return p.reject(h.errorOf(err, p.where))
	}
	var value goja.Value
	if ex := h.js.Try(func() { value = build() }); ex != nil {
		return p.reject(ex.Value())
	}
	return p.resolve(value)
}

func runOperation(ctx context.Context, op operation) (build func() goja.Value, err error) {
	err = contained(func() (err error) {
		build, err = op.do(ctx)
		return err
	})
	return build, err
}

// contained keeps a panic of the repository from ending the process.
func contained(do func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &panicError{value: x, stack: string(debug.Stack())}
		}
	}()
	return do()
}

// where captures the lines of the script that call.
func (h *host) where() []goja.StackFrame {
	return h.js.CaptureCallStack(4, make([]goja.StackFrame, 0, 4))
}

// errorOf makes the JavaScript Error of a failed operation. Its code is the
// reason of the engine's error; 403 when access was refused.
func (h *host) errorOf(err error, where []goja.StackFrame) *goja.Object {
	var e *engine.Error
	if !errors.As(err, &e) {
		e = engine.Wrap(err, "the repository failed")
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			e = &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the request took too long", Err: err}
		}
	}
	var code any = e.Reason
	if e.Code == engine.Forbidden {
		code = 403
	}
	o := h.newError(e.Message, code)
	if e.Class != "" {
		_ = o.Set("class", e.Class)
	}
	if e.ID != "" {
		_ = o.Set("id", e.ID)
	}
	if e.Attribute != "" {
		_ = o.Set("attribute", e.Attribute)
	}
	if e.Params != nil {
		_ = o.Set("params", h.fromDecoded(e.Params))
	}
	h.ancestral(o, e)
	h.hide(o, &placedError{e, where})
	return o
}

// placedError is an engine error with the line that called the repository: the
// Error itself is made later, where no script runs.
type placedError struct {
	error
	where []goja.StackFrame
}

// Unwrap returns the engine error.
func (e *placedError) Unwrap() error { return e.error }
