package script

import (
	"context"
	"sync"
	"time"

	"restsrv/engine"
)

// exclusiveVMs is how many VMs a group may have whose VMs take one call each,
// unless limits.vms says otherwise: measured, more of them answer no more
// calls a second.
const exclusiveVMs = 64

// group is the VMs of one generation. It starts as many as the load needs, up
// to a limit, and drops them when they are not needed. A slot is the right to
// run one call on a VM.
type group struct {
	gen *Generation

	mu         sync.Mutex
	limit      int  // VMs at most
	perVM      int  // calls that share a VM
	exclusive  bool // perVM is 1, by option or by quarantine
	quarantine bool // that is why
	vms        []*vm
	spawning   int
	failed     time.Time // when a VM could not be made last
	inflight   int
	waiting    []*waiter // calls that wait for a slot, oldest first
	ended      []time.Time
	closed     bool
}

func newGroup(g *Generation, exclusive bool) *group {
	own := &group{gen: g, limit: g.limits.VMs, perVM: g.limits.InFlight}
	if exclusive {
		own.isolate()
	}
	return own
}

// isolate has every VM take one call from now on. It needs g.mu.
func (g *group) isolate() {
	g.exclusive, g.perVM = true, 1
	if !g.gen.ownVMs {
		g.limit = max(g.limit, exclusiveVMs)
	}
}

// waiter is a call that waits for a slot. It gets a VM with a slot, or nil,
// which tells it to make a VM.
type waiter struct{ slot chan *vm }

// take returns a VM with a slot for one call if it need not wait nor load.
func (g *group) take() *vm {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		return nil // they come first
	}
	v, _ := g.pick()
	if v != nil {
		g.occupy(v)
	}
	return v
}

// occupy takes a slot of v. It needs g.mu.
func (g *group) occupy(v *vm) {
	v.inflight++
	v.served++
	g.inflight++
}

// acquire returns a VM with a slot for one call: an idle one, else a new one,
// else the one with the fewest calls; who came first is served first. Errors:
// Unavailable when too many wait, Timeout when ctx ends first, and those of
// loading.
func (g *group) acquire(ctx context.Context) (*vm, error) {
	w := &waiter{slot: make(chan *vm, 1)}
	if !g.join(w) {
		return nil, &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: time.Second,
			Message: "service " + g.gen.name + " has too many requests waiting"}
	}
	for {
		select {
		case v := <-w.slot:
			if v != nil {
				return v, nil
			}
			if v, err := g.spawn(w); v != nil || err != nil {
				return v, err
			}
		case <-ctx.Done():
			g.leave(w)
			return nil, timeout(g.gen)
		}
	}
}

// join has w wait, unless too many do.
func (g *group) join(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
	g.serve()
	n := len(g.waiting)
	if n <= g.gen.limits.Queue || g.waiting[n-1] != w {
		return true
	}
	g.waiting = g.waiting[:n-1]
	return false
}

// serve gives slots to those who wait. It needs g.mu.
func (g *group) serve() {
	for len(g.waiting) > 0 {
		v, spawn := g.pick()
		switch {
		case v != nil:
			g.occupy(v)
		case spawn:
			g.spawning++
		default:
			return
		}
		g.waiting[0].slot <- v
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
	}
}

// spawnPause is how long a group that has VMs makes no more after it failed.
const spawnPause = time.Second

func (g *group) pick() (v *vm, spawn bool) {
	var idle, least *vm
	for _, v := range g.vms {
		if v.retired || v.inflight >= g.perVM {
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
	case len(g.vms)+g.spawning < g.limit && (len(g.vms) == 0 || time.Since(g.failed) > spawnPause):
		return nil, true
	}
	return least, false
}

// spawn makes one more VM and takes a slot of it. When that fails and there
// are others, w waits for those, before all who came later, and nothing is
// returned.
func (g *group) spawn(w *waiter) (*vm, error) {
	v, err := g.gen.anotherVM()
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.serve()
	g.spawning--
	if err == nil {
		g.vms = append(g.vms, v)
		g.occupy(v)
		return v, nil
	}
	g.failed = time.Now()
	if len(g.vms) == 0 {
		return nil, err
	}
	g.gen.log.Error("one more VM could not be made; the service goes on with those it has", "error", err)
	g.waiting = append([]*waiter{w}, g.waiting...)
	return nil, nil
}

// adopt adds a VM that is loaded already.
func (g *group) adopt(v *vm) {
	g.mu.Lock()
	v.used = time.Now()
	g.vms = append(g.vms, v)
	g.serve()
	g.mu.Unlock()
}

// leave ends a wait that nobody answered; an answer that came meanwhile goes
// to the next.
func (g *group) leave(w *waiter) {
	g.mu.Lock()
	for i, other := range g.waiting {
		if other == w {
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			g.mu.Unlock()
			return
		}
	}
	v := <-w.slot
	if v == nil {
		g.spawning--
		g.serve()
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	g.release(v)
}

// release gives a slot back.
func (g *group) release(v *vm) {
	g.mu.Lock()
	v.inflight--
	g.inflight--
	v.used = time.Now()
	g.serve()
	var drop []*vm
	switch {
	case v.retired && v.inflight == 0:
		drop = []*vm{v}
	case g.closed && g.inflight == 0:
		drop, g.vms = g.vms, nil
	case v.served >= g.gen.limits.Calls && !v.retired && !g.closed:
		v.served = 0
		go g.recycle(v)
	}
	g.mu.Unlock()
	for _, v := range drop {
		v.dispose()
	}
}

// recycle replaces a VM that has run many calls: what a script leaks in its
// module variables is freed, and nothing tells how much that is. The old VM
// goes when the new one is there and its calls have ended. When no new one can
// be made, the old one stays.
func (g *group) recycle(old *vm) {
	v, err := g.gen.anotherVM()
	if err != nil {
		g.gen.log.Error("a VM that was to be replaced goes on: no other could be made", "error", err)
		return
	}
	g.mu.Lock()
	closed := g.closed && g.inflight == 0 || old.retired
	g.mu.Unlock()
	if closed {
		v.dispose()
		return
	}
	g.gen.lasting.counters.recycled.Add(1)
	g.adopt(v)
	g.retire(old)
}

// retire takes a VM out of the group; it ends with its last call.
func (g *group) retire(v *vm) {
	g.mu.Lock()
	unused := !v.retired && v.inflight == 0
	v.retired = true
	for i, other := range g.vms {
		if other == v {
			g.vms = append(g.vms[:i:i], g.vms[i+1:]...)
			break
		}
	}
	g.serve()
	g.mu.Unlock()
	if unused {
		v.dispose()
	}
}

// A group whose turns had to be ended so often in so short a time runs one call
// a VM, so that what goes wrong harms no other call: until it is loaded anew, or
// none had to be ended for long. A stranger may have sent what a script could not
// bear, and must not slow it down for good.
const (
	quarantineEnds = 3
	quarantineTime = time.Minute
	quarantineCalm = 5 * time.Minute
)

// interrupted notes that a turn had to be ended.
func (g *group) interrupted(now time.Time) {
	g.mu.Lock()
	g.ended = append(g.ended, now)
	if n := len(g.ended) - quarantineEnds; n > 0 {
		g.ended = g.ended[n:]
	}
	often := len(g.ended) == quarantineEnds && now.Sub(g.ended[0]) < quarantineTime
	begins := often && !g.exclusive
	if begins {
		g.isolate()
		g.quarantine = true
	}
	g.mu.Unlock()
	if begins {
		g.gen.lasting.counters.quarantines.Add(1)
		g.gen.log.Error("turns of the service had to be ended again and again: each VM takes one request at a time until the service is loaded anew, or goes well for a while",
			"ended", quarantineEnds, "within", quarantineTime, "until", quarantineCalm)
	}
}

// relax ends a quarantine after a calm time. It needs g.mu.
func (g *group) relax(now time.Time) {
	if !g.quarantine || now.Sub(g.ended[len(g.ended)-1]) < quarantineCalm {
		return
	}
	g.quarantine, g.exclusive, g.ended = false, false, nil
	g.limit, g.perVM = g.gen.limits.VMs, g.gen.limits.InFlight
	g.serve()
}

// reap drops idle VMs, all but one. It is called now and then.
func (g *group) reap(now time.Time) {
	g.mu.Lock()
	g.relax(now)
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
