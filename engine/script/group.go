package script

import (
	"context"
	"sync"
	"time"

	"restsrv/engine"
)

// group is the VMs of one generation. It starts as many as the load needs, up
// to a limit, and drops them when they are not needed.
type group struct {
	gen   *Generation
	limit int

	mu       sync.Mutex
	vms      []*vm
	spawning int
	inflight int
	waiting  []chan struct{} // calls that wait for a slot, oldest first
	closed   bool
}

// take returns a VM with a slot for one call if it need not wait nor load.
func (g *group) take() *vm {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, _ := g.pick()
	if v != nil {
		v.inflight++
		g.inflight++
	}
	return v
}

// acquire returns a VM with a slot for one call: an idle one, else a new one,
// else the one with the fewest calls. Errors: Unavailable when too many wait,
// Timeout when ctx ends first, and those of loading.
func (g *group) acquire(ctx context.Context) (*vm, error) {
	for {
		g.mu.Lock()
		v, spawn := g.pick()
		if v != nil {
			v.inflight++
			g.inflight++
			g.mu.Unlock()
			return v, nil
		}
		if spawn {
			g.spawning++
			g.mu.Unlock()
			return g.spawn()
		}
		if len(g.waiting) >= g.gen.limits.Queue {
			g.mu.Unlock()
			return nil, engine.Errorf(engine.Unavailable, "busy", "service %s has too many requests waiting", g.gen.name)
		}
		slot := make(chan struct{})
		g.waiting = append(g.waiting, slot)
		g.mu.Unlock()
		select {
		case <-slot:
		case <-ctx.Done():
			g.leave(slot)
			return nil, timeout(g.gen)
		}
	}
}

func (g *group) pick() (v *vm, spawn bool) {
	var idle, least *vm
	for _, v := range g.vms {
		if v.retired || v.inflight >= g.gen.limits.InFlight {
			continue
		}
		if least == nil || v.inflight < least.inflight {
			least = v
		}
		if !v.running.Load() && (idle == nil || v.inflight < idle.inflight) {
			idle = v
		}
	}
	switch {
	case idle != nil:
		return idle, false
	case len(g.vms)+g.spawning < g.limit:
		return nil, true
	}
	return least, false
}

// spawn makes one more VM and takes a slot of it.
func (g *group) spawn() (*vm, error) {
	v, err := g.gen.anotherVM()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spawning--
	if err != nil {
		g.wakeOne()
		return nil, err
	}
	v.inflight = 1
	g.inflight++
	g.vms = append(g.vms, v)
	for range g.gen.limits.InFlight - 1 {
		g.wakeOne()
	}
	return v, nil
}

// adopt adds a VM that is loaded already.
func (g *group) adopt(v *vm) {
	g.mu.Lock()
	v.used = time.Now()
	g.vms = append(g.vms, v)
	g.mu.Unlock()
}

// wakeOne needs g.mu.
func (g *group) wakeOne() {
	if len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
	}
}

// leave ends a wait that nobody answered; an answer that came meanwhile goes
// to the next.
func (g *group) leave(slot chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiting {
		if w == slot {
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			return
		}
	}
	g.wakeOne()
}

// release gives a slot back.
func (g *group) release(v *vm) {
	g.mu.Lock()
	v.inflight--
	g.inflight--
	v.used = time.Now()
	g.wakeOne()
	var drop []*vm
	switch {
	case v.retired && v.inflight == 0:
		drop = []*vm{v}
	case g.closed && g.inflight == 0:
		drop, g.vms = g.vms, nil
	}
	g.mu.Unlock()
	for _, v := range drop {
		v.dispose()
	}
}

// retire takes a VM out of the group; it ends with its last call.
func (g *group) retire(v *vm) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v.retired = true
	for i, other := range g.vms {
		if other == v {
			g.vms = append(g.vms[:i:i], g.vms[i+1:]...)
			break
		}
	}
	g.wakeOne()
}

// reap drops idle VMs, all but one.
func (g *group) reap(now time.Time) {
	g.mu.Lock()
	var keep, drop []*vm
	for i, v := range g.vms {
		spare := len(keep)+len(g.vms)-i > 1
		if spare && v.inflight == 0 && now.Sub(v.used) > g.gen.limits.Idle {
			drop = append(drop, v)
			continue
		}
		keep = append(keep, v)
	}
	g.vms = keep
	g.mu.Unlock()
	for _, v := range drop {
		v.dispose()
	}
}

// close lets the VMs go as soon as no call uses them.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	var drop []*vm
	if g.inflight == 0 {
		drop, g.vms = g.vms, nil
	}
	g.mu.Unlock()
	for _, v := range drop {
		v.dispose()
	}
}
