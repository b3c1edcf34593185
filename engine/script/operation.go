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
// do runs on another goroutine; what do returns builds the result, again in a
// turn of the VM.
type operation struct {
	writes bool
	ctx    context.Context // what do gets; nil for that of the call, or of the transaction it is in
	do     func(ctx context.Context) (func() goja.Value, error)
}

// async runs an operation and returns a promise of its result.
func (h *host) async(name string, prepare func(call goja.FunctionCall) (operation, error)) func(goja.FunctionCall) goja.Value {
	return func(fc goja.FunctionCall) goja.Value {
		c := h.active(name)
		op, err := prepare(fc)
		h.v.tally.awaits++
		p, resolve, reject := h.js.NewPromise()
		where := h.where()
		if err != nil {
			must(reject(h.errorOf(err, where)))
			return h.js.ToValue(p)
		}
		if op.writes {
			c.wrote.Store(true)
		}
		ctx := op.ctx
		if ctx == nil {
			ctx = h.context(c)
		}
		go func() {
			build, err := runOperation(ctx, op)
			h.v.do(task{c, func() error {
				if c.over.Load() {
					return nil
				}
				if err != nil {
					return reject(h.errorOf(err, where))
				}
				var value goja.Value
				if ex := h.js.Try(func() { value = build() }); ex != nil {
					return reject(ex.Value())
				}
				return resolve(value)
			}}, true)
		}()
		return h.js.ToValue(p)
	}
}

// runOperation keeps a panic of the repository from ending the process.
func runOperation(ctx context.Context, op operation) (build func() goja.Value, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &panicError{value: x, stack: string(debug.Stack())}
		}
	}()
	return op.do(ctx)
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
