package vm

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// relief replaces VMs when the memory in use stays near the limit after a collection. The reason is usually a script
// that keeps more and more in module variables. Ending the longest turn, which may belong to another service, would
// free none of that memory.
//
// The memory of one VM cannot be measured, so services are relieved one after the other until a quarter of
// the limit is free: first the service whose VMs have freed most the last time, then the service with the most calls since its VMs
// were created.
type relief struct {
	mu    sync.Mutex
	freed map[string]int64 // bytes that the VMs of a service have freed the last time, by its name
	next  time.Time        // earliest time of the next relief
}

const (
	drainTime    = 200 * time.Millisecond // wait for the calls of the old VMs of a service
	reliefPause  = time.Second
	failedRelief = 10 * time.Second // pause after a relief that was not enough
	vainRelief   = time.Minute      // pause after a relief that was not needed to stay under the limit, and freed little
)

// relieve implements heap.relieve. It returns when a quarter of the limit is free, or all services are relieved.
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
			r.next = time.Now().Add(reliefPause)
			return
		}
		before = now
	}
	pause := failedRelief
	if before <= w.heap.limit {
		pause = vainRelief
	}
	r.next = time.Now().Add(pause)
}

// retaining returns the services in the order in which they are relieved. w.relief.mu must be held.
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
