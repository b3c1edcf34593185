package vm

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// suspended is a function that waits for a promise at an await expression. goja does not list such functions, and it has
// left the function when it asks for the asynchronous context. So scripts call AwaitMark before each await.
type suspended struct {
	call  *Call
	scope *Scope
	at    goja.StackFrame
	step  uint64 // of suspensions, when the function was suspended

	before, after *suspended // neighbours in the list of the call
}

// suspensions contains the suspended functions of the calls of a VM.
type suspensions struct {
	mu sync.Mutex // protects the lists of the calls; they are read when a call has exceeded its time limit

	// The following fields may be used only inside a turn.
	frames [3]goja.StackFrame // buffer for the call stack
	marked bool               // AwaitMark was called; frames[1] is its position
	free   *suspended         // to be used again, linked by after
	step   uint64             // grows whenever a function continues
}

// AwaitMark returns the global function that scripts call with the operand of each await expression. It records the
// position and returns its argument.
func (v *VM) AwaitMark() goja.Value {
	l := &v.suspensions
	return v.NewFunction("await", func(call goja.FunctionCall) goja.Value {
		l.marked = len(v.JS.CaptureCallStack(2, l.frames[:0])) > 1
		return call.Argument(0)
	})
}

// add records that a function is suspended at the position of the last call of AwaitMark. It returns nil if there is no
// such call, for example if a script calls the method then of a promise.
func (l *suspensions) add(call *Call, scope *Scope) *suspended {
	if !l.marked {
		return nil
	}
	l.marked = false
	s := l.free
	if s == nil {
		s = &suspended{}
	} else {
		l.free = s.after
	}
	s.call, s.scope, s.at, s.step = call, scope, l.frames[1], l.step
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.after = call.suspended; s.after != nil {
		s.after.before = s
	}
	call.suspended = s
	return s
}

// remove records that s continues. A function continues once, so s can be used again.
func (l *suspensions) remove(s *suspended) {
	l.mu.Lock()
	switch {
	case s.before != nil:
		s.before.after = s.after
	case s.call.suspended == s:
		s.call.suspended = s.after
	}
	if s.after != nil {
		s.after.before = s.before
	}
	l.mu.Unlock()
	*s = suspended{after: l.free}
	l.free = s
	l.step++
}

// listWaiting returns a Failure with the positions at which functions of the call wait. The first position is that of
// the function that was suspended last. If several functions were suspended together, it is the first of them, because
// the others await its promise. If no function waits, the position is that of the handler.
func (c *Call) listWaiting() *Failure {
	f := &Failure{Message: "a promise did not settle"}
	v := c.VM
	if v == nil {
		return f
	}
	var list []suspended
	v.suspensions.mu.Lock()
	for s := c.suspended; s != nil && len(list) < MaxFrames; s = s.after {
		list = append(list, *s)
	}
	v.suspensions.mu.Unlock()
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b suspended) int { return cmp.Compare(b.step, a.step) })
	for i := range list {
		f.AddFrames(v, []goja.StackFrame{list[i].at})
	}
	if f.File == "" {
		f.locateHandler(c)
	}
	return f
}

// locateHandler sets the position of f to the beginning of the function that the call has started.
func (f *Failure) locateHandler(c *Call) {
	text := c.work.Source(c)
	if text == "" || strings.Contains(text, "[native code]") {
		return
	}
	if file, line, column := c.Service.Files.LocateText(text); file != "" {
		f.File, f.Line, f.Column = file, line, column
	}
}

// logLate logs that the call has exceeded its time limit, with the positions at which it waits. It returns the error for
// the client, which contains the first position in development mode.
func (c *Call) logLate() error {
	g := c.Service
	err := timeoutError(g)
	f := c.listWaiting()
	g.Log.Error("a request was not answered within its time limit", g.FailureArgs(f, "request", c.Req.ID, "method", c.Req.Method, "path", c.Req.Path, "at", f.Place())...)
	if place := f.Place(); g.Dev && place != "" {
		err = engine.Errorf(engine.Timeout, "timeout", "service %s did not answer in time: a promise did not settle, which %s waits for", g.Name, place)
	}
	return err
}
