package script

import (
	"context"
	"sync"
	"time"

	"restsrv/engine"
)

// A body takes many times its size once it is JSON, and once more as values of a
// script: so requests with large bodies enter one after the other, as many at a
// time as fit. Without that a few clients could fill the heap, and scripts that
// have done nothing would be ended for it.
const (
	smallBody   = 64 << 10 // bytes up to which a body waits for nobody
	intakeShare = 32       // the part of the heap that the large bodies of all calls may have as they are sent: 1/32
	intakeQueue = 8        // how much more may wait
	intakeWait  = 10 * time.Second
)

// intake is what all services of a process admit at once, in bytes of bodies.
type intake struct {
	mu      sync.Mutex
	most    int
	inside  int
	outside int // of those who wait
	waiting []*entrant
}

// entrant is a body that waits.
type entrant struct {
	bytes int
	admit chan struct{}
}

func newIntake(heap uint64) *intake { return &intake{most: int(heap / intakeShare)} }

// enter waits until a body may be decoded. leave is to be called when nothing of
// it is needed any more. Errors: Unavailable when too much waits, or for too
// long, and when ctx ends.
func (in *intake) enter(ctx context.Context, bytes int) (leave func(), err error) {
	if bytes <= smallBody {
		return func() {}, nil
	}
	e := &entrant{bytes, make(chan struct{})}
	if !in.join(e) {
		return nil, errCrowded()
	}
	leave = sync.OnceFunc(func() { in.leave(bytes) })
	t := time.NewTimer(intakeWait)
	defer t.Stop()
	select {
	case <-e.admit:
		return leave, nil
	case <-t.C:
	case <-ctx.Done():
	}
	if !in.giveUp(e) {
		leave() // it was admitted at that moment
	}
	return nil, errCrowded()
}

func errCrowded() error {
	return &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: time.Second, Message: "too many requests with large bodies are under way"}
}

// join has e wait, and admits it at once if there is room.
func (in *intake) join(e *entrant) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.waiting) > 0 && in.outside+e.bytes > in.most*intakeQueue {
		return false
	}
	in.waiting = append(in.waiting, e)
	in.outside += e.bytes
	in.admit()
	return true
}

// admit lets in who came first, as long as there is room: for one there always
// is, however large. It needs in.mu.
func (in *intake) admit() {
	for len(in.waiting) > 0 {
		e := in.waiting[0]
		if in.inside > 0 && in.inside+e.bytes > in.most {
			return
		}
		in.waiting[0] = nil
		in.waiting = in.waiting[1:]
		in.outside -= e.bytes
		in.inside += e.bytes
		close(e.admit)
	}
}

// giveUp takes e from those who wait; false when it was admitted.
func (in *intake) giveUp(e *entrant) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, w := range in.waiting {
		if w == e {
			in.waiting = append(in.waiting[:i:i], in.waiting[i+1:]...)
			in.outside -= e.bytes
			in.admit()
			return true
		}
	}
	return false
}

func (in *intake) leave(bytes int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inside -= bytes
	in.admit()
}

// tooManyValues reports whether JSON has more than so many values, about: what
// is in texts does not count, nor whether it is JSON at all.
func tooManyValues(json []byte, most int) bool {
	n, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == ',', c == '[', c == '{':
			if n++; n > most {
				return true
			}
		}
	}
	return false
}
