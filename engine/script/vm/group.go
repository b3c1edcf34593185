package vm

import (
	"context"
	"sync"
	"time"

	"restsrv/engine"
)

// exclusiveVMs is the maximum number of VMs of a group in which each VM takes only one call at a time. If the
// service sets limits.VMs, that limit applies instead. In measurements, more VMs did not increase the throughput.
const exclusiveVMs = 64

// group is the set of VMs of one version of a service. It creates VMs under load, up to a limit, and removes VMs that
// are idle. A slot is the permission to run one call on a VM.
type group struct {
	service *Service

	mu         sync.Mutex
	limit      int  // maximum number of VMs
	perVM      int  // maximum number of concurrent calls on one VM
	exclusive  bool // each VM takes one call at a time, because of the option or of a quarantine
	quarantine bool // the group is exclusive because of a quarantine
	vms        []*VM
	spawning   int         // VMs that are being created
	failed     time.Time   // when the creation of a VM last failed
	inflight   int         // current calls, of all VMs
	waiting    []*waiter   // calls that wait for a slot, oldest first
	ended      []time.Time // times of the last aborted turns, at most quarantineEnds
	closed     bool
}

// NewGroup returns a group without VMs. If exclusive is true, each VM takes one call at a time.
func NewGroup(s *Service, exclusive bool) *group {
	own := &group{service: s, limit: s.Limits.VMs, perVM: s.Limits.InFlight}
	if exclusive {
		own.isolate()
	}
	return own
}

// isolate limits each VM to one call at a time, and allows more VMs instead. The caller must hold g.mu.
func (g *group) isolate() {
	g.exclusive, g.perVM = true, 1
	if !g.service.OwnVMs {
		g.limit = max(g.limit, exclusiveVMs)
	}
}

// waiter is a call that waits for a slot. The channel receives a VM whose slot is taken for the call, or nil if the
// call must create a VM.
type waiter struct{ slot chan *VM }

// takeFree takes a slot of a VM that has one free. It returns nil if the call would have to wait or to create a VM.
func (g *group) takeFree() *VM {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		return nil // waiting calls have precedence
	}
	v, _ := g.pickVM()
	if v != nil {
		g.takeSlot(v)
	}
	return v
}

// inUse returns the number of current calls on v. The caller must hold the lock of the group.
func inUse(v *VM) int { return v.inflight + v.lasting }

// takeSlot counts one more call on v. The caller must hold g.mu.
func (g *group) takeSlot(v *VM) {
	v.inflight++
	v.served++
	g.inflight++
}

// acquire takes a slot and returns its VM. It prefers an idle VM. If there is none, it creates a VM; if that is not
// possible, it takes the VM with the fewest calls. Waiting calls are served in order. It returns Unavailable if too
// many calls wait, Timeout if ctx ends first, or the error of creating a VM.
func (g *group) acquire(ctx context.Context) (*VM, error) {
	w := &waiter{slot: make(chan *VM, 1)}
	if !g.joinQueue(w) {
		return nil, &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: time.Second,
			Message: "service " + g.service.Name + " has too many requests waiting"}
	}
	for {
		select {
		case v := <-w.slot:
			if v != nil {
				return v, nil
			}
			if v, err := g.spawnVM(w); v != nil || err != nil {
				return v, err
			}
		case <-ctx.Done():
			g.leaveQueue(w)
			return nil, timeoutError(g.service)
		}
	}
}

// joinQueue adds w to the queue. It returns false if the queue is full.
func (g *group) joinQueue(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
	g.assignSlots()
	n := len(g.waiting)
	if n <= g.service.Limits.Queue || g.waiting[n-1] != w {
		return true
	}
	g.waiting = g.waiting[:n-1]
	return false
}

// assignSlots assigns free slots to waiting calls. The caller must hold g.mu.
func (g *group) assignSlots() {
	for len(g.waiting) > 0 {
		v, spawn := g.pickVM()
		switch {
		case v != nil:
			g.takeSlot(v)
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

// spawnPause is the time for which a group with VMs creates no other VM after the creation of a VM has failed. A
// group without VMs does not pause.
const spawnPause = time.Second

// pickVM returns a VM with a free slot, preferably an idle one. spawn is true if the group should create a VM
// instead, because all VMs are busy. If no slot is free, it returns nil and false. The caller must hold g.mu.
func (g *group) pickVM() (v *VM, spawn bool) {
	var idle, least *VM
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

// spawnVM creates a VM and takes a slot of it. If the creation fails and the group has other VMs, spawnVM puts w back
// at the head of the queue and returns nil, nil.
func (g *group) spawnVM(w *waiter) (*VM, error) {
	v, err := g.service.Spawn()
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.assignSlots()
	g.spawning--
	if err == nil {
		g.vms = append(g.vms, v)
		g.takeSlot(v)
		return v, nil
	}
	g.failed = time.Now()
	if len(g.vms) == 0 {
		return nil, err
	}
	g.service.Log.Error("cannot create another VM; the service continues with its present VMs", "error", err)
	g.waiting = append([]*waiter{w}, g.waiting...)
	return nil, nil
}

// AddVM adds a VM that has loaded the module.
func (g *group) AddVM(v *VM) {
	g.mu.Lock()
	v.used = time.Now()
	g.vms = append(g.vms, v)
	g.assignSlots()
	g.mu.Unlock()
}

// leaveQueue removes w from the queue. If w has already received a slot, leaveQueue releases the slot to the next
// waiter.
func (g *group) leaveQueue(w *waiter) {
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
		g.assignSlots()
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	g.release(v)
}

// giveBack returns the slot of a call on v that goes on after its answer has begun, so that other calls can use the slot.
// The VM is kept until forget is called. In a group in which each VM takes one call at a time, the call keeps its slot;
// giveBack then returns false.
func (g *group) giveBack(v *VM) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.exclusive {
		return false
	}
	v.inflight--
	v.lasting++
	g.assignSlots()
	return true
}

// forget ends the use of v by a call that has given back its slot.
func (g *group) forget(v *VM) {
	g.mu.Lock()
	v.lasting--
	v.inflight++
	g.mu.Unlock()
	g.release(v)
}

// release returns a slot of v. It disposes of VMs that are no longer needed.
func (g *group) release(v *VM) {
	g.mu.Lock()
	v.inflight--
	g.inflight--
	v.used = time.Now()
	g.assignSlots()
	var drop []*VM
	switch {
	case v.retired && inUse(v) == 0:
		drop = []*VM{v}
	case g.closed && g.inflight == 0:
		drop, g.vms = g.vms, nil
	case v.served >= g.service.Limits.Calls && !v.retired && !g.closed:
		v.served = 0
		go g.recycle(v)
	}
	g.mu.Unlock()
	for _, v := range drop {
		v.Dispose()
	}
}

// recycle replaces a VM that has run many calls. This frees memory that the script leaks in module variables, which
// cannot be measured. The old VM leaves the group when the new VM is ready, and is disposed of after its last call.
// If no new VM can be created, the old VM stays in use.
func (g *group) recycle(old *VM) {
	v, err := g.service.Spawn()
	if err != nil {
		g.service.Log.Error("cannot create a VM to replace one that ran many calls; the old one stays in use", "error", err)
		return
	}
	g.mu.Lock()
	closed := g.closed && g.inflight == 0 || old.retired
	g.mu.Unlock()
	if closed {
		v.Dispose()
		return
	}
	g.service.Counters.recycled.Add(1)
	g.AddVM(v)
	g.retire(old)
}

// renew replaces all VMs of the group by one new VM, and returns the old VMs. Further VMs are created when calls need
// them. If no VM can be created, renew returns nil and the old VMs stay in use.
func (g *group) renew() (old []*VM) {
	g.mu.Lock()
	old = append(old, g.vms...)
	closed := g.closed
	g.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	if !closed {
		v, err := g.service.Spawn()
		if err != nil {
			g.service.Log.Error("cannot create a VM to replace those that retain memory; they stay in use", "error", err)
			return nil
		}
		g.AddVM(v)
	}
	g.service.Counters.recycled.Add(uint64(len(old)))
	for _, v := range old {
		g.retire(v)
	}
	return old
}

// countServed returns the number of calls that the present VMs of the group have served.
func (g *group) countServed() (served int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.vms {
		served += v.served
	}
	return served
}

// retire removes a VM from the group, so that it gets no new calls. The VM is disposed of after its last call.
func (g *group) retire(v *VM) {
	g.mu.Lock()
	unused := !v.retired && inUse(v) == 0
	v.retired = true
	for i, other := range g.vms {
		if other == v {
			g.vms = append(g.vms[:i:i], g.vms[i+1:]...)
			break
		}
	}
	g.assignSlots()
	g.mu.Unlock()
	if unused {
		v.Dispose()
	}
}

// If the watchdog ends quarantineEnds turns of a group within quarantineTime, the group is put under quarantine: each
// VM takes one call at a time, so that a failing call cannot affect others. The quarantine ends when the service is
// loaded again, or when no turn was aborted for quarantineCalm. It is temporary, because a single client may have sent
// requests that the script cannot handle.
const (
	quarantineEnds = 3
	quarantineTime = time.Minute
	quarantineCalm = 5 * time.Minute
)

// recordInterrupt records that a turn was aborted, and starts a quarantine if that happened too often.
func (g *group) recordInterrupt(now time.Time) {
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
		g.service.Counters.quarantines.Add(1)
		g.service.Log.Error("turns of the service were ended too often: each VM takes one request at a time until the service is loaded again, or no turn was ended for a while",
			"ended", quarantineEnds, "within", quarantineTime, "until", quarantineCalm)
	}
}

// endQuarantine ends a quarantine after a calm period. The caller must hold g.mu.
func (g *group) endQuarantine(now time.Time) {
	if !g.quarantine || now.Sub(g.ended[len(g.ended)-1]) < quarantineCalm {
		return
	}
	g.quarantine, g.exclusive, g.ended = false, false, nil
	g.limit, g.perVM = g.service.Limits.VMs, g.service.Limits.InFlight
	g.assignSlots()
}

// RemoveIdle disposes of VMs that were idle for longer than limits.Idle, but keeps at least one VM. It also ends a
// quarantine that is over. It is called periodically.
func (g *group) RemoveIdle(now time.Time) {
	g.mu.Lock()
	g.endQuarantine(now)
	var keep, drop []*VM
	for i, v := range g.vms {
		spare := len(keep)+len(g.vms)-i > 1
		if spare && inUse(v) == 0 && now.Sub(v.used) > g.service.Limits.Idle {
			drop = append(drop, v)
			continue
		}
		keep = append(keep, v)
	}
	g.vms = keep
	g.mu.Unlock()
	for _, v := range drop {
		v.Dispose()
	}
}

// Close closes the group. Its VMs are disposed of when no call uses them any more.
func (g *group) Close() {
	g.mu.Lock()
	g.closed = true
	var drop []*VM
	if g.inflight == 0 {
		drop, g.vms = g.vms, nil
	}
	g.mu.Unlock()
	for _, v := range drop {
		v.Dispose()
	}
}

// acquireUrgent returns a VM for a call on which a write of the repository depends. It never waits for a slot: the
// calls that use the VMs may wait for the same write, so neither could continue. Therefore it may exceed the limits
// of the group.
func (g *group) acquireUrgent() (*VM, error) {
	if v := g.atOnce(); v != nil {
		return v, nil
	}
	v, err := g.service.Spawn()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	v.used = time.Now()
	g.vms = append(g.vms, v)
	g.takeSlot(v)
	return v, nil
}

// atOnce takes a slot of the VM with the fewest calls, even if the VM has no free slot. If the group is exclusive, it
// takes only a VM without calls. It returns nil if there is no suitable VM.
func (g *group) atOnce() *VM {
	g.mu.Lock()
	defer g.mu.Unlock()
	var least *VM
	for _, v := range g.vms {
		if !v.retired && (least == nil || v.inflight < least.inflight) {
			least = v
		}
	}
	if least == nil || g.exclusive && least.inflight > 0 {
		return nil
	}
	g.takeSlot(least)
	return least
}
