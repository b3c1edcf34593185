package exchange

import (
	"context"
	"sync"
	"time"

	"restsrv/engine"
)

// Limits for large request bodies. When a body is parsed, and again when it is converted to JavaScript values, it
// takes many times its size. Therefore requests with large bodies wait in order until there is room for them. Without
// this limit, a few clients could fill the heap, and the watchdog would stop scripts that did not cause it.
const (
	smallBody   = 64 << 10         // bytes; a body up to this size does not wait and is not counted
	intakeShare = 32               // the large bodies that are processed may have 1/intakeShare of the heap in total
	intakeQueue = 8                // the waiting bodies may have intakeQueue times that size in total
	intakeWait  = 10 * time.Second // maximum time that a body waits
)

// Intake limits the total size of the large request bodies that a process processes at a time, for all services.
type Intake struct {
	mu      sync.Mutex
	most    int // maximum of inside, in bytes
	inside  int // bytes of the bodies that are processed
	outside int // bytes of the waiting bodies
	waiting []*entrant
}

// entrant is a body that waits.
type entrant struct {
	bytes int
	admit chan struct{} // closed when the body may be processed
}

// NewIntake returns an Intake for a process whose heap limit is heap bytes.
func NewIntake(heap uint64) *Intake { return &Intake{most: int(heap / intakeShare)} }

// Enter waits until a body of the given size may be decoded. The caller must call leave when it does not need the
// decoded body any more. The error is Unavailable if too many bodies wait, if the wait takes too long, or if ctx
// ends.
func (in *Intake) Enter(ctx context.Context, bytes int) (leave func(), err error) {
	if bytes <= smallBody {
		return func() {}, nil
	}
	e := &entrant{bytes, make(chan struct{})}
	if !in.addEntrant(e) {
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
		leave() // e was admitted at the same time, so its place is released
	}
	return nil, errCrowded()
}

func errCrowded() error {
	return &engine.Error{Code: engine.Unavailable, Reason: "busy", RetryAfter: time.Second, Message: "too many requests with large bodies are under way"}
}

// addEntrant adds e to the queue, and admits e at once if it fits. It returns false if the queue is full.
func (in *Intake) addEntrant(e *entrant) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.waiting) > 0 && in.outside+e.bytes > in.most*intakeQueue {
		return false
	}
	in.waiting = append(in.waiting, e)
	in.outside += e.bytes
	in.admitWaiting()
	return true
}

// admitWaiting admits waiting bodies in order as long as they fit. If no body is being processed, it admits the
// first one even if it is larger than the limit. The caller must hold in.mu.
func (in *Intake) admitWaiting() {
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

// giveUp removes e from the queue. It returns false if e has been admitted meanwhile.
func (in *Intake) giveUp(e *entrant) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, w := range in.waiting {
		if w == e {
			in.waiting = append(in.waiting[:i:i], in.waiting[i+1:]...)
			in.outside -= e.bytes
			in.admitWaiting()
			return true
		}
	}
	return false
}

func (in *Intake) leave(bytes int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inside -= bytes
	in.admitWaiting()
}
