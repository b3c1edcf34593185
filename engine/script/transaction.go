package script

import (
	"context"
	"errors"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// transaction is one attempt of dataRepo.transaction. Its function is called in
// a turn. Meanwhile, a goroutine keeps the transaction of the repository open
// until the result of the function is settled, the time limit is reached, or
// the call ends.
type transaction struct {
	scope
	r     *jsRepository // the repository of the transaction
	work  goja.Callable
	ended chan error // receives the error of work, once

	// The following fields may be used only inside a turn.
	result goja.Value // result of work, or the value that it threw
	busy   bool       // work threw the error of a conflict with another transaction
}

// maxTransactionAttempts is the maximum of the option attempts.
const maxTransactionAttempts = 20

// errThrown ends a transaction if its function threw result.
var errThrown = errors.New("the function of a transaction failed")

// checkUsable returns an error if the transaction is over or belongs to another
// call.
func (r *jsRepository) checkUsable() error {
	t, within := r.tx, r.h.tx
	switch {
	case t == nil:
		return nil
	case t.call != r.h.cur:
		return engine.Errorf(engine.Invalid, "transaction", "the transaction is that of another request")
	case t.over:
		return engine.Errorf(engine.Invalid, "transaction", "the transaction is over: its repository works until the function that got it has ended")
	case within != &t.scope && within.isOpen():
		return engine.Errorf(engine.Invalid, "transaction", "inside a transaction use tx, the argument of its own function")
	}
	return nil
}

// outsideWriteError returns the error for a write outside of the open
// transaction, because the write would wait for that transaction.
func outsideWriteError() error {
	return engine.Errorf(engine.Invalid, "transaction",
		"inside a transaction use tx, the argument of its function: a write of another repository would wait for the transaction to end")
}

// joinTransaction makes an operation a part of the transaction of the
// repository, if there is one.
func (r *jsRepository) joinTransaction(prepare func(goja.FunctionCall) (operation, error)) func(goja.FunctionCall) (operation, error) {
	return func(call goja.FunctionCall) (operation, error) {
		if err := r.checkUsable(); err != nil {
			return operation{}, err
		}
		op, err := prepare(call)
		switch {
		case err != nil:
		case r.tx != nil:
			op.ctx = r.tx.ctx
		case op.writes && r.h.tx.isOpen():
			err = outsideWriteError()
		case r.h.tx.isOpen() && engine.WithinTransaction(r.h.cur.context()):
			op.ctx = r.h.tx.ctx // in the context of the outer transaction it would wait for the inner one to end
		default:
			op.ctx = r.h.cur.context() // it reads committed data
			op.prompt = !op.writes
		}
		return op, err
	}
}

// transaction implements dataRepo.transaction(work, {attempts}).
func (r *jsRepository) transaction(fc goja.FunctionCall) goja.Value {
	h := r.h
	c := h.activeCall("dataRepo.transaction")
	p, resolve, reject := h.js.NewPromise()
	where := h.callStack()
	work, ok := goja.AssertFunction(fc.Argument(0))
	err := r.checkUsable()
	switch {
	case err != nil:
	case !ok:
		err = engine.Errorf(engine.Invalid, "argument", "transaction takes a function, found %s", describeValue(fc.Argument(0)))
	case r.tx == nil && h.tx.isOpen():
		err = outsideWriteError()
	}
	attempts := 1
	if err == nil {
		attempts, err = r.readAttempts(fc.Argument(1))
	}
	if err != nil {
		must(reject(h.errorOf(err, where)))
		return h.js.ToValue(p)
	}
	c.wrote.Store(true)
	ctx := c.context()
	if r.tx != nil {
		ctx = r.tx.ctx
	}
	go func() {
		t, err := transaction{scope: scope{call: c}, r: r, work: work}.runAttempts(ctx, attempts)
		h.do(task{c, func() error {
			t.over = true
			switch {
			case c.over.Load():
				if err != nil {
					t.logLost(where)
				}
				return nil
			case err == nil:
				return resolve(t.result)
			case errors.Is(err, errThrown):
				return reject(t.result)
			}
			return reject(h.errorOf(err, where))
		}}, true)
	}()
	return h.js.ToValue(p)
}

// readAttempts returns how often the function of a transaction may be called.
// The default is 1, because changes of variables or of the shared store and
// effects of fetch are not undone with the transaction.
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
		return 0, engine.Errorf(engine.Invalid, "argument", "attempts of a transaction is a number from 1 to %d, found %s", maxTransactionAttempts, describeValue(v))
	case r.tx != nil && n > 1:
		return 0, engine.Errorf(engine.Invalid, "argument", "a transaction within another cannot be tried again by itself: give attempts to the outer one")
	}
	return int(n), nil
}

// runAttempts runs the transaction, and runs it again if it conflicts with
// other transactions. It returns the last attempt. Each attempt is a separate
// transaction: later operations of the function from an earlier attempt fail.
func (t transaction) runAttempts(ctx context.Context, attempts int) (last *transaction, err error) {
	for attempt := 1; ; attempt++ {
		one := t
		one.ended = make(chan error, 1)
		err := recoverPanic(func() error { return engine.InTransaction(ctx, t.r.repo, one.run) })
		again := isConflict(err) || errors.Is(err, errThrown) && one.busy
		if !again || attempt >= attempts || !pauseWrite(ctx) {
			return &one, err
		}
	}
}

// logLost logs that a transaction was undone after its request was answered.
func (t *transaction) logLost(where []goja.StackFrame) {
	v := t.r.h.vm
	f := &Failure{Message: "the request was answered before its transaction ended: await it"}
	f.addFrames(v, where)
	v.service.log.Error("a transaction was undone", v.service.failureArgs(f, "request", t.call.req.ID)...)
}

// run calls the function of the transaction and waits until it ends.
func (t *transaction) run(ctx context.Context) error {
	limit := t.r.h.limits.Transaction
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.ctx = ctx
	if !t.r.h.do(task{t.call, t.start}, false) {
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
	if err := t.call.context().Err(); err != nil {
		return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the request ended before its transaction did", Err: err}
	}
	return engine.Errorf(engine.Timeout, "transaction-time", "the transaction took longer than %s and was undone", limit)
}

// start is the turn that calls the function.
func (t *transaction) start() error {
	h := t.r.h
	if t.call.over.Load() {
		return nil // its context has ended, which ends the transaction
	}
	h.tx = &t.scope
	tx := (&jsRepository{h: h, repo: t.r.repo, tx: t}).newObject()
	ret, err := t.work(goja.Undefined(), tx)
	if err != nil {
		return t.endThrown(err)
	}
	p, ok := promiseOf(ret)
	if !ok {
		if p, ok, err = h.adoptThenable(ret); err != nil {
			return t.endThrown(err)
		}
	}
	if !ok {
		t.end(ret, nil)
		return nil
	}
	return h.then(p, func(v goja.Value) { t.end(v, nil) }, func(v goja.Value) { t.end(v, errThrown) })
}

func (t *transaction) endThrown(err error) error {
	var ex *goja.Exception
	if isUncatchable(err) || !errors.As(err, &ex) {
		return err
	}
	t.end(ex.Value(), errThrown)
	return nil
}

// end records the result of the function.
func (t *transaction) end(result goja.Value, err error) {
	t.over, t.result = true, result
	if o, ok := result.(*goja.Object); ok && err != nil {
		t.busy = isConflict(t.r.h.attachedError(o))
	}
	t.ended <- err
}
