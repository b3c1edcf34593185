package acl

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

const (
	// lookAfter is how long grants are believed before the stored ones are
	// looked at again; what other processes change counts within half a second.
	lookAfter = 400 * time.Millisecond
	// lookFor bounds one look at a database that does not answer.
	lookFor = 10 * time.Second
	// readings is how often grants are read again because they changed
	// meanwhile; the next look brings what is missing then.
	readings = 3
)

// snapshot remembers the grants.
type snapshot struct {
	start time.Time
	last  atomic.Pointer[seen] // nil when a look is due whatever the time

	mu         sync.Mutex
	generation uint64         // changes with every change of this process
	grants     *engine.Grants // of the last look, also when another is due
	running    *look
}

// seen are the grants at a time since the start; unlike the wall clock it never
// jumps.
type seen struct {
	grants *engine.Grants
	at     time.Duration
}

// look is one reading that all who need it share.
type look struct {
	generation uint64
	done       chan struct{}
	grants     *engine.Grants
	err        error
}

// Grants implements engine.Policy. What this Store has changed counts at once.
// Errors: those of the repository; Timeout when ctx ends first.
func (s *Store) Grants(ctx context.Context) (*engine.Grants, error) {
	now := s.clock().Sub(s.snapshot.start)
	if last := s.snapshot.last.Load(); last != nil && now-last.at < lookAfter {
		return last.grants, nil
	}
	l, leads := s.snapshot.join()
	if leads {
		// Others wait for it too: it does not end with this request.
		go s.look(context.WithoutCancel(engine.AsServer(ctx)), l, now)
	}
	select {
	case <-l.done:
		return l.grants, l.err
	case <-ctx.Done():
		e := engine.Errorf(engine.Timeout, "timeout", "the request ended before its permissions were known")
		e.Err = ctx.Err()
		return nil, e
	}
}

// join returns the look that is under way, or a new one that the caller must
// see to. One that began before the last change is not joined.
func (n *snapshot) join() (l *look, leads bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l = n.running; l != nil && l.generation == n.generation {
		return l, false
	}
	l = &look{generation: n.generation, done: make(chan struct{})}
	n.running = l
	return l, true
}

// forget makes a look due: something was changed.
func (n *snapshot) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.generation++
	n.last.Store(nil)
}

// known are the grants of the last look, nil for none.
func (n *snapshot) known() *engine.Grants {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.grants
}

// finish ends a look that began at a time.
func (n *snapshot) finish(l *look, at time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == l {
		n.running = nil
	}
	if l.err == nil && l.generation == n.generation {
		n.grants = l.grants
		n.last.Store(&seen{l.grants, at})
	}
	close(l.done)
}

func (s *Store) look(ctx context.Context, l *look, at time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	l.grants, l.err = s.current(ctx)
	s.snapshot.finish(l, at)
}

// current returns the stored grants: those that are known while their revision
// is the stored one.
func (s *Store) current(ctx context.Context) (*engine.Grants, error) {
	revision, err := s.revision(ctx)
	if err != nil {
		return nil, err
	}
	if known := s.snapshot.known(); known != nil && known.Revision == revision {
		return known, nil
	}
	for n := 1; ; n++ {
		// What was read is at least as new as the revision. Resources come
		// last: an attribute whose last grant is gone by now is declared.
		grants, err := s.List(ctx, Filter{})
		if err != nil {
			return nil, err
		}
		resources, err := s.Resources(ctx)
		if err != nil {
			return nil, err
		}
		after, err := s.revision(ctx)
		if err != nil {
			return nil, err
		}
		if after == revision || n == readings {
			ids := make([]string, len(resources))
			for i, r := range resources {
				ids[i] = r.ID
			}
			return engine.NewGrants(revision, grants, ids), nil
		}
		revision = after
	}
}

// revision is that of the policy, 0 before its first change.
func (s *Store) revision(ctx context.Context) (uint64, error) {
	item, err := s.find(ctx, s.classes.policy, policyID)
	if item == nil || err != nil {
		return 0, err
	}
	return item.Revision, nil
}
