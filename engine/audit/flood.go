package audit

import (
	"net/netip"
	"sync"
	"time"

	"restsrv/engine"
)

// Within floodTime so many events of one kind are kept one by one: all of them
// together, and those from one network.
const (
	floodTime    = time.Minute
	maxFlood     = 300
	maxFloodFrom = 30
)

// floods bounds the events that anybody can cause.
type floods struct {
	tell func(entry) // keeps an event

	mu    sync.Mutex
	kinds map[engine.EventKind]*flood
	timer *time.Timer // runs while something is to be told
}

// flood are the events of one kind within floodTime.
type flood struct {
	since time.Time
	kept  int
	from  map[netip.Prefix]int
	left  int // not kept
}

func floodable(k engine.EventKind) bool {
	return k == engine.SignInFailed || k == engine.RequestDenied
}

// admit reports whether an event is to be kept; it counts those that are not.
func (f *floods) admit(e entry) bool {
	if !floodable(e.Kind) {
		return true
	}
	bits := 32
	a := e.Caller.Address.Unmap().WithZone("")
	if a.Is6() {
		bits = 64
	}
	network, _ := a.Prefix(bits) // the zero Prefix without an address
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = map[engine.EventKind]*flood{}
	}
	of := f.kinds[e.Kind]
	if of == nil || of.left == 0 && e.at.Sub(of.since) >= floodTime {
		of = &flood{since: e.at, from: map[netip.Prefix]int{}}
		f.kinds[e.Kind] = of
	}
	if of.kept < maxFlood && of.from[network] < maxFloodFrom {
		of.kept++
		of.from[network]++
		return true
	}
	of.left++
	if f.timer == nil {
		f.timer = time.AfterFunc(floodTime, func() { f.close(e.at.Add(floodTime)) })
	}
	return false
}

// close tells how many events were not kept, and begins anew.
func (f *floods) close(now time.Time) {
	f.mu.Lock()
	var summaries []entry
	for kind, of := range f.kinds {
		if of.left > 0 {
			summaries = append(summaries, entry{now, engine.Event{Kind: kind, Details: engine.Fields{
				{Name: "notKept", Value: int64(of.left)}, {Name: "since", Value: of.since.UTC().Format(time.RFC3339)},
			}}})
		}
	}
	f.kinds = nil
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.mu.Unlock()
	for _, e := range summaries {
		f.tell(e)
	}
}
