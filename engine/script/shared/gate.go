package shared

import (
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// gate is a lock or a computation. One call at a time passes the gate: it holds the lock or computes the value. The
// other calls wait in the order in which they arrived.
type gate struct {
	holder  *contender // the call that has passed
	waiting []*contender
}

// contender is a call that waits at a gate or has passed it.
type contender struct {
	call   *vm.Call
	vm     *vm.VM
	forget func()                 // cancels Call.AtEnd; protected by Store.mu
	begin  func() error           // runs as a turn when the call passes the gate
	settle func(result any) error // runs as a turn when another call has computed the value; not used for locks
}

// join makes c wait at the gate with the given name. If the gate is free, c passes at once. When the call of c ends,
// c leaves the gate.
func (s *Store) join(name string, c *contender) {
	s.mu.Lock() // lock before AtEnd: the call may end at any time, and leave must then find c
	c.forget = c.call.AtEnd(func() { s.leave(name, c) })
	g := s.gates[name]
	if g == nil {
		s.gates[name] = &gate{holder: c}
	} else {
		g.waiting = append(g.waiting, c)
	}
	s.mu.Unlock()
	switch {
	case c.call.Over.Load(): // the call may have ended before AtEnd
		s.leave(name, c)
	case g == nil:
		js.Must(c.begin())
	}
}

// leave removes c from a gate. If c had passed, the next contender passes. leave returns false if c was not at the
// gate.
func (s *Store) leave(name string, c *contender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.forget()
	g := s.gates[name]
	if g == nil || g.holder != c {
		return g.removeWaiting(c)
	}
	if len(g.waiting) == 0 {
		delete(s.gates, name)
		return true
	}
	next := g.waiting[0]
	g.holder, g.waiting = next, g.waiting[1:]
	next.postTurn(next.begin)
	return true
}

// giveUp removes c from the queue of the gate. It returns false if c has passed already.
func (s *Store) giveUp(name string, c *contender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gates[name].removeWaiting(c)
}

// removeWaiting removes c from the queue. It returns false if c is not in the queue. g may be nil.
func (g *gate) removeWaiting(c *contender) bool {
	if g == nil {
		return false
	}
	for i, w := range g.waiting {
		if w == c {
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// settleAll passes the result that c has computed to all contenders in the queue, and removes the gate. It returns
// false, and does neither, if c is no longer the holder, for example because its call has ended.
func (s *Store) settleAll(name string, c *contender, result any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.forget()
	g := s.gates[name]
	if g == nil || g.holder != c {
		return false
	}
	delete(s.gates, name)
	for _, w := range g.waiting {
		w.forget()
		w.postTurn(func() error { return w.settle(result) })
	}
	return true
}

// postTurn queues f as a turn of c's VM. f never runs inside the current turn, because that turn may belong to another
// VM. If the VM of c has been discarded, f does not run. In this case c leaves the gate when its call ends.
func (c *contender) postTurn(f func() error) {
	go c.vm.Do(vm.Task{Call: c.call, Run: func() error {
		if c.call.Over.Load() {
			return nil
		}
		return f()
	}}, true)
}
