package acl

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

const (
	// lookAfter is the age at which the grants in memory are compared with the stored grants.
	// Changes of other processes should take effect within half a second.
	lookAfter = 400 * time.Millisecond
	// lookFor is the timeout of a look (see the type look) if the database does not answer.
	lookFor = 10 * time.Second
	// readings is the maximum number of times that one look reads the grants. A look reads the
	// grants again if they have changed during the reading. The next look finds a change after
	// the last reading.
	readings = 3
)

// snapshot is the cache of the grants.
type snapshot struct {
	start time.Time
	last  atomic.Pointer[seen] // nil if a look is due regardless of the time

	mu         sync.Mutex
	generation uint64         // increases with every change by this process
	grants     *engine.Grants // result of the last look, kept even when another one is due
	running    *look
}

// seen holds the grants and the time of the look, measured from snapshot.start.
// Unlike the wall clock, that time never jumps.
type seen struct {
	grants *engine.Grants
	at     time.Duration
}

// look compares the grants in memory with the stored grants, and reads them if they have changed.
// All callers that wait for a look share its result.
type look struct {
	generation uint64
	done       chan struct{}
	grants     *engine.Grants
	err        error
}

// Grants implements engine.Policy. Changes by this Store take effect at once.
// Errors: those of the repository; Timeout when ctx ends first.
func (s *Store) Grants(ctx context.Context) (*engine.Grants, error) {
	now := s.clock().Sub(s.snapshot.start)
	if last := s.snapshot.last.Load(); last != nil && now-last.at < lookAfter {
		return last.grants, nil
	}
	l, leads := s.snapshot.join()
	if leads {
		// The look continues when this request ends, because other requests may wait for it.
		go s.runLook(context.WithoutCancel(engine.AsServer(ctx)), l, now)
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

// join returns the running look. If there is none, or if it began before the last change,
// join returns a new one and leads is true: the caller must run it.
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

// forget makes a look due. It is called after a change.
func (n *snapshot) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.generation++
	n.last.Store(nil)
}

// lastGrants returns the grants of the last look, or nil if there was no look.
func (n *snapshot) lastGrants() *engine.Grants {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.grants
}

// finish publishes the result of a look that began at the given time.
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

func (s *Store) runLook(ctx context.Context, l *look, at time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	l.grants, l.err = s.readGrants(ctx)
	s.snapshot.finish(l, at)
}

// readGrants returns the stored grants. If the stored revision is still the revision of the
// grants in memory, it returns the grants in memory.
func (s *Store) readGrants(ctx context.Context) (*engine.Grants, error) {
	revision, err := s.storedRevision(ctx)
	if err != nil {
		return nil, err
	}
	if known := s.snapshot.lastGrants(); known != nil && known.Revision == revision {
		return known, nil
	}
	for n := 1; ; n++ {
		// The grants that List returns are at least as new as the revision. Resources are read
		// last: if an attribute has lost its last grant by now, it is among the declared
		// resources.
		grants, err := s.List(ctx, Filter{})
		if err != nil {
			return nil, err
		}
		resources, err := s.Resources(ctx)
		if err != nil {
			return nil, err
		}
		after, err := s.storedRevision(ctx)
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

// storedRevision returns the revision of the policy, 0 if there was no change yet.
func (s *Store) storedRevision(ctx context.Context) (uint64, error) {
	item, err := s.find(ctx, s.classes.policy, policyID)
	if item == nil || err != nil {
		return 0, err
	}
	return item.Revision, nil
}
