package vm

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// ActiveCall returns the call on whose behalf the script runs. If there is no call or if it is over, ActiveCall
// throws an error; its message begins with the parameter what, the name of the function that the script called.
func (h *VM) ActiveCall(what string) *Call {
	c := h.Call
	if c == nil || c.Over.Load() {
		panic(h.NewError(what+" acts for the account of a request: it cannot be called while the service loads, nor after the request was answered", "no-request"))
	}
	h.InTime()
	return c
}

// InTime stops the turn if its time is over. Such a turn must not have effects any more: a regular expression that
// was interrupted returns "no match", and the script continues with this wrong result.
func (h *VM) InTime() {
	if why := h.Clock.expired(); why != nil {
		h.JS.Interrupt(why) // a script can catch an error, but not an interrupt
		panic(h.NewError(why.Error(), nil))
	}
}

// Operation is work for a script that runs outside of the turns, such as a query. The arguments of the script are
// checked and copied before Do runs. The function that Do returns builds the result; it runs in a turn.
type Operation struct {
	Writes  bool
	Prompt  bool            // Do returns soon after its context ends, so it may run on the goroutine of the request
	Context context.Context // context for Do; nil means the context of the current transaction, or else of the call
	Do      func(ctx context.Context) (func() goja.Value, error)
}

// AsyncFunction returns the Go code of a JavaScript function that starts an operation and returns a promise. prepare
// checks the arguments and returns the operation. If prepare fails, the promise is rejected.
func (h *VM) AsyncFunction(name string, prepare func(call goja.FunctionCall) (Operation, error)) func(goja.FunctionCall) goja.Value {
	return func(fc goja.FunctionCall) goja.Value {
		c := h.ActiveCall(name)
		op, err := prepare(fc)
		h.Tally.Awaits++
		promise, resolve, reject := h.JS.NewPromise()
		p := &pending{h: h, call: c, Operation: op, where: h.CallStack(), resolve: resolve, reject: reject}
		if err != nil {
			js.Must(reject(h.ErrorOf(err, p.where)))
			return h.JS.ToValue(promise)
		}
		if op.Writes {
			c.Wrote.Store(true)
		}
		if p.Context == nil {
			p.Context = h.currentContext(c)
		}
		if !op.Prompt || !c.handOver(p) {
			go p.run(true)
		}
		return h.JS.ToValue(promise)
	}
}

// pending is an operation that has started and whose promise has not settled.
type pending struct {
	Operation
	h       *VM
	call    *Call
	where   []goja.StackFrame // call stack of the script that started the operation
	resolve func(any) error
	reject  func(any) error
}

// run executes the operation and queues the turn that settles its promise. patient is the parameter of VM.Do. It is
// false if run is called on the goroutine of the request.
func (p *pending) run(patient bool) {
	build, err := runOperation(p.Context, p.Operation)
	if c := p.call; !patient && p.Context.Err() != nil {
		c.endLate() // this goroutine ran the operation, so it could not notice the end of the context
		return
	}
	p.h.Do(Task{p.call, func() error { return p.settle(build, err) }}, patient)
}

// settle settles the promise with the result of build, or with err. It runs as a turn.
func (p *pending) settle(build func() goja.Value, err error) error {
	h, c := p.h, p.call
	c.markReturned(p)
	if c.Over.Load() {
		return nil
	}
	if err != nil {
		return p.reject(h.ErrorOf(err, p.where))
	}
	var value goja.Value
	if ex := h.JS.Try(func() { value = build() }); ex != nil {
		return p.reject(ex.Value())
	}
	return p.resolve(value)
}

func runOperation(ctx context.Context, op Operation) (build func() goja.Value, err error) {
	err = RecoverPanic(func() (err error) {
		build, err = op.Do(ctx)
		return err
	})
	return build, err
}

// RecoverPanic calls do. If do panics, it returns an error with the panic value and the stack, so that the panic does
// not end the process.
func RecoverPanic(do func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &panicError{value: x, stack: string(debug.Stack())}
		}
	}()
	return do()
}

// CallStack returns the call stack of the running script.
func (h *VM) CallStack() []goja.StackFrame {
	return h.JS.CaptureCallStack(4, make([]goja.StackFrame, 0, 4))
}

// ErrorOf returns the JavaScript Error for the failure of an operation. where is the call stack at which the script
// started the operation. The property code of the Error is the Reason of the engine.Error, or 403 if access was
// denied.
func (h *VM) ErrorOf(err error, where []goja.StackFrame) *goja.Object {
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
	o := h.NewError(e.Message, code)
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
		_ = o.Set("params", h.FromDecoded(e.Params))
	}
	h.setLegacyCode(o, e)
	h.AttachError(o, &placedError{e, where})
	return o
}

// placedError is an engine error together with the call stack at which the script started the operation. The stack
// must be kept, because the JavaScript Error is created later, when the script is not running.
type placedError struct {
	error
	where []goja.StackFrame
}

// Unwrap returns the engine error.
func (e *placedError) Unwrap() error { return e.error }
