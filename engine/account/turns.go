package account

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"restsrv/engine"
)

// turns lets so many compute at once and as many wait as there is room for. The
// networks that wait take turns, and when there is no room left the one with
// the most waiting gives way: a flood from one place neither fills the queue nor
// comes before the one request of another.
type turns struct {
	mu     sync.Mutex
	slots  int // there are
	free   int
	room   int // for turns in lines
	queued int
	first  []*turn // go before all others, and need no room
	lines  map[netip.Prefix][]*turn
	order  []netip.Prefix // of lines, whose turn is next comes first
}

// turn is one who waits. The channel gets nil, or the error instead of a turn.
type turn struct {
	network netip.Prefix
	come    chan error
}

func newTurns(slots, room int) *turns {
	return &turns{slots: slots, free: slots, room: room, lines: map[netip.Prefix][]*turn{}}
}

// networkOf is an IPv4 address, or an IPv6 /64, all of whose addresses one
// customer has. Requests without an address are of one network.
func networkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // of the zero Addr: the zero Prefix
	return p
}

// enter waits for the right to compute, which leave gives back. ahead is for
// those whom a flood must not keep out. Errors: Unavailable when there is no
// room, Timeout when ctx ends.
func (q *turns) enter(ctx context.Context, network netip.Prefix, ahead bool) error {
	if err := ctx.Err(); err != nil {
		return gaveUp(err)
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
	} else if !q.line(t) {
		q.mu.Unlock()
		return tooBusy()
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
	if !waits && <-t.come == nil { // it came meanwhile
		q.leave()
	}
	return gaveUp(ctx.Err())
}

// line puts a turn into the line of its network, if there is room or a longer
// line to take it from. mu is held.
func (q *turns) line(t *turn) bool {
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
		last.come <- tooBusy()
	}
	if len(q.lines[t.network]) == 0 {
		q.order = append(q.order, t.network)
	}
	q.lines[t.network] = append(q.lines[t.network], t)
	q.queued++
	return true
}

// remove takes out a turn that has not come; it reports whether it was there.
// mu is held.
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

// leave hands the right to compute on to who is next.
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

// counts are how many compute, and how many wait in lines.
func (q *turns) counts() (computing, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.slots - q.free, q.queued
}

// How many requests at most wait at once because of failures before them, and
// how many of one network.
const (
	maxWaiting     = 1024
	maxWaitingFrom = 64
)

// crowd are requests that wait because of failures before them.
type crowd struct {
	mu   sync.Mutex
	all  int
	from map[netip.Prefix]int
}

// join reports whether there is room for one more; it leaves later.
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

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// enter waits for the right to compute for whoever a request is from; leave
// gives it back.
func (h *Hasher) enter(ctx context.Context, from engine.Caller) error {
	return h.turns.enter(ctx, networkOf(from.Address), false)
}

// enterFirst is enter for those whom a flood of others must not keep out: they
// stand in no queue that can be full, and their turn is the next.
func (h *Hasher) enterFirst(ctx context.Context) error {
	return h.turns.enter(ctx, netip.Prefix{}, true)
}

func (h *Hasher) leave() {
	h.turns.leave()
	h.tidy.Reset(tidyAfter)
}
