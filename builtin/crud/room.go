package crud

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
)

// room is the memory that an answer may take. It grows with the answer as far as
// the answers of other requests leave memory free.
type room struct {
	memory engine.Memory // nil bounds nothing
	most   int           // bytes that the answer may have now
}

// errNoRoom says that an answer needs more memory than is free now.
var errNoRoom error = &engine.Error{Code: engine.Unavailable, Reason: "answer-bytes",
	Message: "the answers of other requests leave no memory for an answer of this size; try again later"}

// item appends an item. Errors: errNoRoom, and Invalid when the answer would be
// longer than any may be.
func (r *room) item(b []byte, it *engine.Item, only *engine.Projection) ([]byte, error) {
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

// wait waits for twice the memory of which there was too little, or for what the
// answer will likely need. The answer must be begun again.
func (r *room) wait(likely int) error {
	next := min(max(4*r.most, likely), engine.MaxAnswer)
	if err := r.memory.Wait(next); err != nil {
		return err
	}
	r.most = next
	return nil
}

// sizes remembers how long the items of lists are, so that a large list waits for
// its memory before it is read. It keeps as many sizes as it has places: lists
// that share one are estimated alike, and grow their room if that is too little.
type sizes struct {
	seed   maphash.Seed
	places [1 << 10]atomic.Uint64 // bytes of an item << 32 | items that were found at most; 0 when unknown
	first  *share.Pool            // lists of which nothing is known
}

func newSizes() *sizes {
	return &sizes{seed: maphash.MakeSeed(), first: share.New(share.Config{Name: "lists of unknown length", Capacity: 4, PerKey: 1, MaxWait: 10 * time.Second})}
}

// begin reserves memory for a list that is about to be read. Of the lists of an
// account of which the length is unknown only one is read at a time, until the
// caller releases the grant: the others may know by then how much they need.
func (s *sizes) begin(ctx context.Context, place *atomic.Uint64, count int, r *room) (g share.Grant, err error) {
	if place.Load() == 0 && count > defaultCount {
		if g, err = s.first.Acquire(ctx, share.Key(ctx), 1); err != nil {
			return g, err
		}
		if place.Load() != 0 {
			g.Release()
		}
	}
	if err = r.expect(estimate(place, count)); err != nil {
		g.Release()
	}
	return g, err
}

func (s *sizes) place(l *listing) *atomic.Uint64 {
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

// estimate returns how long the answer of a list will likely be.
func estimate(place *atomic.Uint64, count int) int {
	v := place.Load()
	likely := int(v>>32) * min(int(v&(1<<32-1)), count)
	return min(likely+likely/8, engine.MaxAnswer)
}

// learn notes the length of so many items of a list, and how many items a list
// has. Shorter lists later have it forget a longer one slowly.
func learn(place *atomic.Uint64, bytes, of, items int) {
	known := place.Load()
	if of == 0 && known != 0 {
		return
	}
	before := known & (1<<32 - 1)
	if size := uint64(bytes/max(of, 1))<<32 | max(before-before/4, uint64(items)); size != known {
		place.Store(size)
	}
}

// expect reserves memory for an answer of so many bytes, and waits for it if it
// is not free.
func (r *room) expect(bytes int) error {
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
