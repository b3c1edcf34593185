package script

// gate lets one call through at a time: who computes a value, who holds a
// lock. The others wait in the order they came.
type gate struct {
	holder  *contender
	waiting []*contender
}

// contender is a call at a gate.
type contender struct {
	call   *call
	vm     *vm
	forget func()                 // its call's ending no longer matters; guarded by the store
	begin  func() error           // a turn of vm: its time has come
	settle func(result any) error // a turn of vm: somebody else did what it was to do
}

// join has c wait at a gate, or pass when nobody is there. When its call ends
// it leaves.
func (s *store) join(name string, c *contender) {
	s.mu.Lock() // its call may end at any moment: leave is to find it here
	c.forget = c.call.atEnd(func() { s.leave(name, c) })
	g := s.gates[name]
	if g == nil {
		s.gates[name] = &gate{holder: c}
	} else {
		g.waiting = append(g.waiting, c)
	}
	s.mu.Unlock()
	switch {
	case c.call.over.Load(): // it may have ended before it could be told
		s.leave(name, c)
	case g == nil:
		must(c.begin())
	}
}

// leave takes c from a gate; when it held it, the next one passes. It reports
// whether c was there.
func (s *store) leave(name string, c *contender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.forget()
	g := s.gates[name]
	if g == nil || g.holder != c {
		return g.drop(c)
	}
	if len(g.waiting) == 0 {
		delete(s.gates, name)
		return true
	}
	next := g.waiting[0]
	g.holder, g.waiting = next, g.waiting[1:]
	next.post(next.begin)
	return true
}

// giveUp takes c from those who wait; false when its time has come already.
func (s *store) giveUp(name string, c *contender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gates[name].drop(c)
}

// drop takes c from those who wait, if it is there.
func (g *gate) drop(c *contender) bool {
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

// settleAll ends what c did at a gate for all who wait there. It reports
// whether c still held it.
func (s *store) settleAll(name string, c *contender, result any) bool {
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
		w.post(func() error { return w.settle(result) })
	}
	return true
}

// post has f run in a turn of c's VM: never inside this turn, which may be of
// another VM. When that VM is gone, the call of c ends, and so leaves.
func (c *contender) post(f func() error) {
	go c.vm.do(task{c.call, func() error {
		if c.call.over.Load() {
			return nil
		}
		return f()
	}}, true)
}
