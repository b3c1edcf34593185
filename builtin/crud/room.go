package crud

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
)

// room is the memory that is reserved for an answer. The reservation grows with the answer, as long
// as memory is free.
type room struct {
	memory engine.Memory // if nil, engine.MaxAnswer is the only limit
	most   int           // reserved bytes
}

// errNoRoom means that an answer needs more memory than is free.
var errNoRoom error = &engine.Error{Code: engine.Unavailable, Reason: "answer-bytes",
	Message: "the answers of other requests leave no memory for an answer of this size; try again later"}

// appendItem appends the JSON of an item to b. If the reservation is too small, it reserves more
// memory. The error is errNoRoom if that memory is not free, and Invalid if the answer would exceed
// engine.MaxAnswer.
func (r *room) appendItem(b []byte, it *engine.Item, only *engine.Projection) ([]byte, error) {
	start := len(b)
	for {
		b = it.AppendWithin(b[:start], only, r.most)
		if len(b) <= r.most {
			return b, nil
		}
		if r.most >= engine.MaxAnswer {
			return b[:start], tooLong()
		}
		next := min(2*r.most, engine.MaxAnswer)
		if r.memory != nil && !r.memory.Try(next) {
			return b[:start], errNoRoom
		}
		r.most = next
	}
}

// waitForMemory waits until more memory is free, and reserves it. It reserves twice as much as
// appendItem tried to reserve, or the expected length of the answer (likely) if that is more. The
// caller must then make the answer again from the start.
func (r *room) waitForMemory(likely int) error {
	next := min(max(4*r.most, likely), engine.MaxAnswer)
	if err := r.memory.Wait(next); err != nil {
		return err
	}
	r.most = next
	return nil
}

// sizes stores the length of lists, so that memory for a long list can be reserved before the
// list is read. It is a hash table with a fixed number of entries. Lists with the same hash share
// an entry, so the stored length can be wrong. If it is too small, the reservation grows while
// the list is read.
type sizes struct {
	seed   maphash.Seed
	places [1 << 10]atomic.Uint64 // bytes of an item << 32 | number of items in the list; 0 if unknown
	first  *share.Pool            // admits lists of unknown length
}

func newSizes() *sizes {
	return &sizes{seed: maphash.MakeSeed(), first: share.New(share.Config{Name: "lists of unknown length", Capacity: 4, PerKey: 1, MaxWait: 10 * time.Second})}
}

// beginList reserves memory for a list before it is read. If the length of the list is unknown, an
// account can read only one such list at a time. Its other requests wait, and can then use the
// length of the first list. The caller must release g when it has read the list.
func (s *sizes) beginList(ctx context.Context, place *atomic.Uint64, count int, r *room) (g share.Grant, err error) {
	if place.Load() == 0 && count > defaultCount {
		if g, err = s.first.Acquire(ctx, share.Key(ctx), 1); err != nil {
			return g, err
		}
		if place.Load() != 0 {
			g.Release()
		}
	}
	if err = r.reserveLength(estimateLength(place, count)); err != nil {
		g.Release()
	}
	return g, err
}

// placeOf returns the entry for a list. Lists of one class with the same _fields and _eager share
// an entry.
func (s *sizes) placeOf(l *listing) *atomic.Uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	h.WriteString(l.class.FullName)
	for _, name := range [...]string{"_fields", "_eager", "_eager[]"} {
		for _, v := range l.given[name] {
			h.WriteString(v)
		}
	}
	return &s.places[h.Sum64()%uint64(len(s.places))]
}

// estimateLength returns the expected length in bytes of a list with at most count items, plus an
// eighth. It returns 0 if the length is unknown.
func estimateLength(place *atomic.Uint64, count int) int {
	v := place.Load()
	likely := int(v>>32) * min(int(v&(1<<32-1)), count)
	return min(likely+likely/8, engine.MaxAnswer)
}

// learnLength records the length of a list. bytes is the length of the first items, and of is the
// number of these items; the two give the length of an item. items is the number of all items in
// the list. If it is smaller than the recorded number, the recorded number is reduced by at most
// a quarter.
func learnLength(place *atomic.Uint64, bytes, of, items int) {
	known := place.Load()
	if of == 0 && known != 0 {
		return
	}
	before := known & (1<<32 - 1)
	if size := uint64(bytes/max(of, 1))<<32 | max(before-before/4, uint64(items)); size != known {
		place.Store(size)
	}
}

// reserveLength reserves memory for an answer of the given length. It waits until the memory is
// free.
func (r *room) reserveLength(bytes int) error {
	if bytes <= r.most || r.memory == nil {
		return nil
	}
	if !r.memory.Try(bytes) {
		if err := r.memory.Wait(bytes); err != nil {
			return err
		}
	}
	r.most = bytes
	return nil
}
