package vm

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// relief is the state of Watchdog.relieve, which replaces VMs if the memory in use is still near the limit after a
// collection. The reason is usually a script that stores more and more data in module variables. Interrupting the
// longest turn, which may belong to another service, would not free this memory.
//
// The memory of one VM cannot be measured. Therefore relieve replaces the VMs of one service after the other, until a
// quarter of the limit is free. It begins with the service that freed most memory the last time. Among equals, it
// takes the service with the most calls since its VMs were created.
type relief struct {
	mu    sync.Mutex
	freed map[string]int64 // bytes that replacing the VMs of a service freed the last time, by name of the service
	next  time.Time        // earliest time of the next relief
}

const (
	drainTime    = 200 * time.Millisecond // maximum time to wait for the calls of the old VMs of a service
	failedRelief = 10 * time.Second       // pause if the memory in use is still over the limit
	vainRelief   = time.Minute            // pause if it is under the limit, but less than a quarter is free
)

// relieve implements heap.relieve; see relief. It returns when a quarter of the limit is free, or when the VMs of all
// services have been replaced.
func (w *Watchdog) relieve() {
	r := &w.relief
	r.mu.Lock()
	defer r.mu.Unlock()
	before, enough := w.heap.liveBytes(), w.heap.limit/4*3
	if before <= enough || time.Now().Before(r.next) {
		return
	}
	for _, s := range w.retaining() {
		old := s.Group.renew()
		if len(old) == 0 {
			continue
		}
		s.Group.drain(old)
		w.heap.gc()
		now := w.heap.liveBytes()
		r.freed[s.Name] = int64(before) - int64(now)
		s.Log.Warn("the scripts retain more memory than their limit: the VMs of this service were replaced",
			"limit", w.heap.limit, "before", before, "after", now)
		if now <= enough {
			return // without a pause: a fast leak can fill a quarter of the limit in less than a second
		}
		before = now
	}
	pause := failedRelief
	if before <= w.heap.limit {
		pause = vainRelief
	}
	r.next = time.Now().Add(pause)
}

// retaining returns the services in the order in which relieve replaces their VMs. The caller must hold w.relief.mu.
func (w *Watchdog) retaining() []*Service {
	served := map[*Service]int{}
	w.mu.Lock()
	for v := range w.vms {
		served[v.Service] = 0
	}
	w.mu.Unlock()
	var all []*Service
	for s := range served {
		if s.Group != nil {
			served[s] = s.Group.countServed()
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *Service) int {
		freed := cmp.Compare(w.relief.freed[b.Name], w.relief.freed[a.Name])
		return cmp.Or(freed, cmp.Compare(served[b], served[a]), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// drain waits until the calls of retired VMs have ended, at most for drainTime.
func (g *group) drain(old []*VM) {
	for end := time.Now().Add(drainTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		g.mu.Lock()
		busy := slices.ContainsFunc(old, func(v *VM) bool { return v.inflight > 0 })
		g.mu.Unlock()
		if !busy {
			return
		}
	}
}
