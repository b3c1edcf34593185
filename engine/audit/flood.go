package audit

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"restsrv/engine"
)

// Limits for the number of events that are recorded one by one within floodTime. Some kinds of
// events can be caused by any client, such as failed sign-ins: at most maxFlood events of each
// kind are recorded, and at most maxFloodFrom of them from one network. Other kinds are caused
// by accounts: at most maxFloodOf events of each kind are recorded for each account.
const (
	floodTime      = time.Minute
	maxFlood       = 300
	maxFloodFrom   = 30
	maxFloodOf     = 120
	floodsRecorded = 10_000 // maximum number of counters
)

// floods limits the events that clients can cause. Events of the administration are
// always recorded.
type floods struct {
	record func(entry) // records an event

	mu    sync.Mutex
	all   map[floodKey]*flood
	timer *time.Timer // runs while there are counts to be reported
}

// floodKey identifies the events that are counted together.
type floodKey struct {
	kind    engine.EventKind
	account string // "" for the kinds that any client can cause
}

// flood counts events within floodTime.
type flood struct {
	since time.Time
	kept  int
	from  map[netip.Prefix]int
	left  int // number of events that were not recorded
}

// floodKeyOf returns the key under which an event is counted. ok is false if the
// event is always recorded.
func floodKeyOf(e entry) (key floodKey, ok bool) {
	switch e.Kind {
	case engine.SignInFailed, engine.RequestDenied:
		return floodKey{kind: e.Kind}, true
	case engine.SignedIn, engine.SignedOut, engine.TokenIssued, engine.TokenRevoked, engine.TokenReused, engine.ConsentGiven, engine.ConsentDenied:
		return floodKey{e.Kind, e.Account}, e.Account != ""
	}
	return key, false
}

// admitEvent reports whether an event should be recorded. It counts the events that should not.
func (f *floods) admitEvent(e entry) bool {
	key, ok := floodKeyOf(e)
	if !ok {
		return true
	}
	bits := 32
	a := e.Caller.Address.Unmap().WithZone("")
	if a.Is6() {
		bits = 64
	}
	network, _ := a.Prefix(bits) // the zero Prefix if the event has no address
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.floodOf(key, e.at)
	most, mostFrom := maxFlood, maxFloodFrom
	if key.account != "" {
		most, mostFrom = maxFloodOf, maxFloodOf
	}
	if of.kept < most && of.from[network] < mostFrom {
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

// floodOf returns the flood of a key for an event at the given time. If the last flood of the key
// is over, floodOf begins a new one. The caller must hold mu.
func (f *floods) floodOf(key floodKey, at time.Time) *flood {
	ended := func(of *flood) bool { return of.left == 0 && at.Sub(of.since) >= floodTime }
	of := f.all[key]
	if of != nil && !ended(of) {
		return of
	}
	if f.all == nil {
		f.all = map[floodKey]*flood{}
	}
	if len(f.all) >= floodsRecorded {
		maps.DeleteFunc(f.all, func(_ floodKey, of *flood) bool { return ended(of) })
		if len(f.all) >= floodsRecorded {
			maps.DeleteFunc(f.all, func(_ floodKey, of *flood) bool { return of.left == 0 })
		}
	}
	of = &flood{since: at, from: map[netip.Prefix]int{}}
	f.all[key] = of
	return of
}

// close reports the numbers of events that were not recorded, and resets the
// counters.
func (f *floods) close(now time.Time) {
	f.mu.Lock()
	var summaries []entry
	for key, of := range f.all {
		if of.left > 0 {
			summaries = append(summaries, entry{now, engine.Event{Kind: key.kind, Account: key.account, Details: engine.Fields{
				{Name: "notKept", Value: int64(of.left)}, {Name: "since", Value: of.since.UTC().Format(time.RFC3339)},
			}}})
		}
	}
	f.all = nil
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.mu.Unlock()
	for _, e := range summaries {
		f.record(e)
	}
}
