package data

import (
	"context"
	"errors"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/event"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// transaction is one attempt of dataRepo.transaction(work). work is called in a turn. Meanwhile, a goroutine keeps
// the transaction of the repository open until the promise of work settles, the time limit is reached, or the call
// ends.
type transaction struct {
	vm.Scope
	r     *jsRepository // the repository on which the transaction was started
	work  goja.Callable // the function of the script
	ended chan error    // receives nil or an error when work has ended

	// The following fields may be used only inside a turn.
	result goja.Value // value that work returned or threw
	busy   bool       // work threw an error because of a conflict with another transaction
}

// maxTransactionAttempts is the maximum value of the option attempts.
const maxTransactionAttempts = 20

// errThrown is the error of a transaction whose function threw a value. The value is in transaction.result.
var errThrown = errors.New("the function of a transaction failed")

// checkUsable returns an error if r belongs to a transaction that cannot be used now: it is over, another call has
// started it, or an inner transaction is open.
func (r *jsRepository) checkUsable() error {
	t, within := r.tx, r.h.Scope
	switch {
	case t == nil:
		return nil
	case t.Call != r.h.Call:
		return engine.Errorf(engine.Invalid, "transaction", "the transaction is that of another request")
	case t.Over:
		return engine.Errorf(engine.Invalid, "transaction", "the transaction is over: its repository works until the function that got it has ended")
	case within != &t.Scope && within.IsOpen():
		return engine.Errorf(engine.Invalid, "transaction", "inside a transaction use tx, the argument of its own function")
	}
	return nil
}

// outsideWriteError returns the error for a write outside of the open transaction. Such a write would wait for the
// transaction to end.
func outsideWriteError() error {
	return engine.Errorf(engine.Invalid, "transaction",
		"inside a transaction use tx, the argument of its function: a write of another repository would wait for the transaction to end")
}

// joinTransaction returns a function that calls prepare and adds the handling of transactions. If r belongs to a
// transaction, the operation that prepare returns runs in this transaction. Otherwise, a write fails while a
// transaction of the call is open. The function sets Operation.Context accordingly.
func (r *jsRepository) joinTransaction(prepare func(goja.FunctionCall) (vm.Operation, error)) func(goja.FunctionCall) (vm.Operation, error) {
	return func(call goja.FunctionCall) (vm.Operation, error) {
		if err := r.checkUsable(); err != nil {
			return vm.Operation{}, err
		}
		op, err := prepare(call)
		switch {
		case err != nil:
		case r.tx != nil:
			op.Context = r.tx.Ctx
		case op.Writes && r.h.Scope.IsOpen():
			err = outsideWriteError()
		case r.h.Scope.IsOpen() && engine.WithinTransaction(r.h.Call.Context()):
			op.Context = r.h.Scope.Ctx // in the outer transaction of the call, it would wait for the inner one
		default:
			op.Context = r.h.Call.Context() // the operation runs outside of transactions, so it reads committed data
			op.Prompt = !op.Writes
		}
		return op, err
	}
}

// transaction implements dataRepo.transaction(work, {attempts}).
func (r *jsRepository) transaction(fc goja.FunctionCall) goja.Value {
	h := r.h
	c := h.ActiveCall("dataRepo.transaction")
	p, resolve, reject := h.JS.NewPromise()
	where := h.CallStack()
	work, ok := goja.AssertFunction(fc.Argument(0))
	err := r.checkUsable()
	switch {
	case err != nil:
	case !ok:
		err = engine.Errorf(engine.Invalid, "argument", "transaction takes a function, found %s", js.DescribeValue(fc.Argument(0)))
	case r.tx == nil && h.Scope.IsOpen():
		err = outsideWriteError()
	}
	attempts := 1
	if err == nil {
		attempts, err = r.readAttempts(fc.Argument(1))
	}
	if err != nil {
		js.Must(reject(h.ErrorOf(err, where)))
		return h.JS.ToValue(p)
	}
	c.Wrote.Store(true)
	ctx := c.Context()
	if r.tx != nil {
		ctx = r.tx.Ctx
	}
	go func() {
		t, err := transaction{Scope: vm.Scope{Call: c}, r: r, work: work}.runAttempts(ctx, attempts)
		h.Do(vm.Task{Call: c, Run: func() error {
			t.Over = true
			switch {
			case c.Over.Load():
				if err != nil {
					t.logLost(where)
				}
				return nil
			case err == nil:
				return resolve(t.result)
			case errors.Is(err, errThrown):
				return reject(t.result)
			}
			return reject(h.ErrorOf(err, where))
		}}, true)
	}()
	return h.JS.ToValue(p)
}

// readAttempts returns the option attempts: how often the function of a transaction may be called. The default is 1,
// because some effects are not undone with the transaction: changes of variables and of the shared store, and
// requests by fetch.
func (r *jsRepository) readAttempts(options goja.Value) (int, error) {
	o, ok := options.(*goja.Object)
	if !ok {
		return 1, nil
	}
	v := o.Get("attempts")
	if v == nil || goja.IsUndefined(v) {
		return 1, nil
	}
	n, whole := v.Export().(int64)
	switch {
	case !whole || n < 1 || n > maxTransactionAttempts:
		return 0, engine.Errorf(engine.Invalid, "argument", "attempts of a transaction is a number from 1 to %d, found %s", maxTransactionAttempts, js.DescribeValue(v))
	case r.tx != nil && n > 1:
		return 0, engine.Errorf(engine.Invalid, "argument", "a transaction within another cannot be tried again by itself: give attempts to the outer one")
	}
	return int(n), nil
}

// runAttempts runs the transaction, and repeats it if it conflicts with other transactions. It returns the last
// attempt. Each attempt is a new transaction, so operations that the function has started in an earlier attempt fail.
func (t transaction) runAttempts(ctx context.Context, attempts int) (last *transaction, err error) {
	for attempt := 1; ; attempt++ {
		one := t
		one.ended = make(chan error, 1)
		err := vm.RecoverPanic(func() error { return engine.InTransaction(ctx, t.r.repo, one.run) })
		again := event.IsConflict(err) || errors.Is(err, errThrown) && one.busy
		if !again || attempt >= attempts || !event.PauseWrite(ctx) {
			return &one, err
		}
	}
}

// logLost logs that a transaction was undone because the handler answered the request before the transaction ended.
func (t *transaction) logLost(where []goja.StackFrame) {
	v := t.r.h.VM
	f := &vm.Failure{Message: "the request was answered before its transaction ended: await it"}
	f.AddFrames(v, where)
	v.Service.Log.Error("a transaction was undone", v.Service.FailureArgs(f, "request", t.Call.Req.ID)...)
}

// run is the work of the repository transaction: it calls the function of the script in a turn and waits until it
// ends.
func (t *transaction) run(ctx context.Context) error {
	limit := t.r.h.Limits.Transaction
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.Ctx = ctx
	if !t.r.h.Do(vm.Task{Call: t.Call, Run: t.start}, false) {
		return engine.Errorf(engine.Unavailable, "script", "the service was restarted, try again")
	}
	select {
	case err := <-t.ended:
		if err == nil && ctx.Err() != nil {
			break
		}
		return err
	case <-ctx.Done():
	}
	if err := t.Call.Context().Err(); err != nil {
		return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the request ended before its transaction did", Err: err}
	}
	return engine.Errorf(engine.Timeout, "transaction-time", "the transaction took longer than %s and was undone", limit)
}

// start is the turn that calls the function of the script.
func (t *transaction) start() error {
	h := t.r.h
	if t.Call.Over.Load() {
		return nil // the context of the transaction has ended, too, which makes run return
	}
	h.Scope = &t.Scope
	tx := (&jsRepository{arguments: arguments{h, t.r.repo}, tx: t}).newObject()
	ret, err := t.work(goja.Undefined(), tx)
	if err != nil {
		return t.endThrown(err)
	}
	p, ok := js.PromiseOf(ret)
	if !ok {
		if p, ok, err = h.AdoptThenable(ret); err != nil {
			return t.endThrown(err)
		}
	}
	if !ok {
		t.end(ret, nil)
		return nil
	}
	return h.Then(p, func(v goja.Value) { t.end(v, nil) }, func(v goja.Value) { t.end(v, errThrown) })
}

func (t *transaction) endThrown(err error) error {
	var ex *goja.Exception
	if vm.IsUncatchable(err) || !errors.As(err, &ex) {
		return err
	}
	t.end(ex.Value(), errThrown)
	return nil
}

// end records the result of the function and makes run return. err is nil or errThrown.
func (t *transaction) end(result goja.Value, err error) {
	t.Over, t.result = true, result
	if o, ok := result.(*goja.Object); ok && err != nil {
		t.busy = event.IsConflict(t.r.h.AttachedError(o))
	}
	t.ended <- err
}
