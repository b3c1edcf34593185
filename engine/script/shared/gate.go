package shared

import (
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// gate admits one call at a time, which computes a value or holds a lock. The
// others wait in the order of their arrival.
type gate struct {
	holder  *contender
	waiting []*contender
}

// contender is a call at a gate.
type contender struct {
	call   *vm.Call
	vm     *vm.VM
	forget func()                 // unregisters from the end of the call; protected by the mutex of the store
	begin  func() error           // a turn of vm: the call passes the gate
	settle func(result any) error // a turn of vm: another call has produced the result
}

// join adds c to a gate. If the gate is free, c passes at once. When the call
// of c ends, c leaves the gate.
func (s *Store) join(name string, c *contender) {
	s.mu.Lock() // the lock is held before AtEnd, because the call may end at any time and leave must find c
	c.forget = c.call.AtEnd(func() { s.leave(name, c) })
	g := s.gates[name]
	if g == nil {
		s.gates[name] = &gate{holder: c}
	} else {
		g.waiting = append(g.waiting, c)
	}
	s.mu.Unlock()
	switch {
	case c.call.Over.Load(): // it may have ended before AtEnd
		s.leave(name, c)
	case g == nil:
		js.Must(c.begin())
	}
}

// leave removes c from a gate. If c was the holder, the next contender passes.
// leave reports whether c was at the gate.
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

// giveUp removes c from the queue of a gate. It returns false if c has passed
// already.
func (s *Store) giveUp(name string, c *contender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gates[name].removeWaiting(c)
}

// removeWaiting removes c from the queue and reports whether it was there.
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

// settleAll passes the result of c to all contenders that wait at its gate and
// removes the gate. It reports whether c was still the holder.
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

// postTurn runs f in a turn of c's VM. It never runs f inside the current turn,
// which may belong to another VM. If that VM no longer exists, the call of c
// ends and c leaves the gate.
func (c *contender) postTurn(f func() error) {
	go c.vm.Do(vm.Task{Call: c.call, Run: func() error {
		if c.call.Over.Load() {
			return nil
		}
		return f()
	}}, true)
}
