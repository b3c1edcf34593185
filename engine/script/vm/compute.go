package vm

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// computing is the work of a call that runs in Go outside of turns.
type computing struct {
	running chan struct{} // holds an element while work runs
	size    int           // memory of the pending work in bytes; may be used only inside a turn
	used    atomic.Int64  // time of the completed work in nanoseconds
}

// computers limits the work that the process runs at the same time outside of turns, so that turns of other services
// find a processor.
var computers = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// errCompute is the reason why work outside of turns has to stop.
type errCompute struct{ limit time.Duration }

func (e errCompute) Error() string {
	return "the request used more than " + e.limit.String() + " of CPU outside of its turns"
}

// Compute runs work in Go that needs much CPU time, such as a key derivation, outside of the turns, and returns a
// promise of the result of settle. All work of a call together may take as long as one turn. The function expired
// returns an error if the time is over, or if the call has ended; work should then return. Work that cannot be
// interrupted is charged as well, and no other work of the call starts if the time is over. The works of a call run
// one after another, so that a call cannot occupy all processors. The parameter size is the memory that work holds
// until it is completed.
func (h *VM) Compute(what string, size int, work func(expired func() error) (settle func() goja.Value)) goja.Value {
	c := h.ActiveCall(what)
	state := LocalOf[computing](c)
	if state.running == nil {
		state.running = make(chan struct{}, 1)
	}
	if state.size += size; state.size > h.Service.Limits.Text {
		state.size -= size
		panic(h.NewError(what+": too much data waits for operations of this request; await each operation", "too-much-data"))
	}
	run := h.AsyncFunction(what, func(goja.FunctionCall) (Operation, error) {
		return Operation{Context: c.Context(), Do: func(ctx context.Context) (func() goja.Value, error) {
			settle, err := c.compute(ctx, state, work)
			return func() goja.Value {
				state.size -= size
				if err != nil {
					panic(h.ErrorOf(err, nil))
				}
				return settle()
			}, nil
		}}, nil
	})
	return run(goja.FunctionCall{})
}

// compute waits until no other work of the call runs and a processor is free, and runs the work.
func (c *Call) compute(ctx context.Context, state *computing, work func(func() error) func() goja.Value) (func() goja.Value, error) {
	for _, place := range []chan struct{}{state.running, computers} {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	limit := c.Service.Limits.CPU
	start := time.Now()
	end := start.Add(limit - time.Duration(state.used.Load()))
	expired := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !time.Now().Before(end) {
			return errCompute{limit}
		}
		return nil
	}
	if err := expired(); err != nil {
		return nil, &engine.Error{Code: engine.Internal, Reason: "cpu-limit", Message: err.Error()}
	}
	defer func() {
		took := time.Since(start)
		state.used.Add(int64(took))
		c.cpu.Add(int64(took))
	}()
	return work(expired), nil
}
