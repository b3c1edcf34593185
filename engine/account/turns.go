package account

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"restsrv/engine"
)

// turns limits the number of concurrent computations, and queues further computations as long as
// there is room. Each network has a queue of its own, called its line, and the lines are served
// in turn. If there is no room, the longest line loses its last request. So a flood from one
// network cannot fill the queue, and it cannot delay a single request from another network.
type turns struct {
	mu     sync.Mutex
	slots  int // the total
	free   int
	room   int // capacity of all lines together
	queued int
	first  []*turn // served before all lines; they do not count as queued
	lines  map[netip.Prefix][]*turn
	order  []netip.Prefix // networks with lines; the first one is next
}

// turn is one waiting computation. Its channel receives nil when the turn comes,
// or an error if it was displaced.
type turn struct {
	network netip.Prefix
	come    chan error
}

func newTurns(slots, room int) *turns {
	return &turns{slots: slots, free: slots, room: room, lines: map[netip.Prefix][]*turn{}}
}

// networkOf returns the network of an address: the IPv4 address itself, or its
// IPv6 /64, because one customer has all addresses of a /64. Requests without an
// address share one network.
func networkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // if a is the zero Addr, p is the zero Prefix
	return p
}

// enter waits for a slot. The caller must call leave after the computation. If ahead is true, a
// flood of other callers cannot delay this caller. Errors: Unavailable if the queue is full,
// Timeout when ctx ends.
func (q *turns) enter(ctx context.Context, network netip.Prefix, ahead bool) error {
	if err := ctx.Err(); err != nil {
		return timeoutError(err)
	}
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return nil
	}
	t := &turn{network, make(chan error, 1)}
	if ahead {
		q.first = append(q.first, t)
	} else if !q.lineUp(t) {
		q.mu.Unlock()
		return busyError()
	}
	q.mu.Unlock()
	select {
	case err := <-t.come:
		return err
	case <-ctx.Done():
	}
	q.mu.Lock()
	waits := q.remove(t)
	q.mu.Unlock()
	if !waits && <-t.come == nil { // the turn came meanwhile
		q.leave()
	}
	return timeoutError(ctx.Err())
}

// lineUp adds a turn to the line of its network. If the queue is full, it removes the last turn
// of the longest line to make room. It returns false if no line is at least two turns longer
// than the line of t. The caller must hold mu.
func (q *turns) lineUp(t *turn) bool {
	if q.queued >= q.room {
		var longest []*turn
		for _, l := range q.lines {
			if len(l) > len(longest) {
				longest = l
			}
		}
		if len(longest) <= len(q.lines[t.network])+1 {
			return false
		}
		last := longest[len(longest)-1]
		q.remove(last)
		last.come <- busyError()
	}
	if len(q.lines[t.network]) == 0 {
		q.order = append(q.order, t.network)
	}
	q.lines[t.network] = append(q.lines[t.network], t)
	q.queued++
	return true
}

// remove removes a turn from its line, and reports whether the turn was still waiting. The caller
// must hold mu.
func (q *turns) remove(t *turn) bool {
	if i := slices.Index(q.first, t); i >= 0 {
		q.first = slices.Delete(q.first, i, i+1)
		return true
	}
	l := q.lines[t.network]
	i := slices.Index(l, t)
	if i < 0 {
		return false
	}
	q.queued--
	if len(l) > 1 {
		q.lines[t.network] = slices.Delete(l, i, i+1)
		return true
	}
	delete(q.lines, t.network)
	q.order = slices.DeleteFunc(q.order, func(n netip.Prefix) bool { return n == t.network })
	return true
}

// leave passes the slot to the next waiter.
func (q *turns) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next *turn
	switch {
	case len(q.first) > 0:
		next = q.first[0]
	case len(q.order) > 0:
		next = q.lines[q.order[0]][0]
		q.order = append(q.order[1:], q.order[0])
	default:
		q.free++
		return
	}
	q.remove(next)
	next.come <- nil
}

// Maximum number of requests that wait because of earlier failures, in total and
// for one network.
const (
	maxWaiting     = 1024
	maxWaitingFrom = 64
)

// crowd counts the requests that wait because of earlier failures.
type crowd struct {
	mu   sync.Mutex
	all  int
	from map[netip.Prefix]int
}

// join adds a request, and returns false if there is no room for it. After join has returned
// true, the caller must call leave when the wait ends.
func (c *crowd) join(network netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= maxWaiting || c.from[network] >= maxWaitingFrom {
		return false
	}
	if c.from == nil {
		c.from = map[netip.Prefix]int{}
	}
	c.all++
	c.from[network]++
	return true
}

func (c *crowd) leave(network netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[network]--; c.from[network] == 0 {
		delete(c.from, network)
	}
}

// enter waits for a slot on behalf of the caller of a request; leave releases
// it.
func (h *Hasher) enter(ctx context.Context, from engine.Caller) error {
	return h.turns.enter(ctx, networkOf(from.Address), false)
}

// enterFirst waits for a slot on behalf of a request that a flood of other requests must not
// delay. The request needs no room in the queue, and gets the next free slot.
func (h *Hasher) enterFirst(ctx context.Context) error {
	return h.turns.enter(ctx, netip.Prefix{}, true)
}

func (h *Hasher) leave() {
	h.turns.leave()
	h.tidy.Reset(tidyAfter)
}
