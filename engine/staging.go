package engine

import (
	"context"
	"sync"
)

// Staging collects functions to be called when a request ends. They release
// contents of files that the request has stored, or that its objects are about to
// refer to. Every context of WithRequest has one. It is safe for concurrent use.
type Staging struct {
	mu        sync.Mutex
	releases  []func(settled bool)
	unsettled bool
	ended     bool
}

type stagingKey struct{}

// StagingFrom returns the Staging of the request, or nil if ctx does not belong to
// a request.
func StagingFrom(ctx context.Context) *Staging {
	s, _ := ctx.Value(stagingKey{}).(*Staging)
	return s
}

// WithStaging returns a context with a Staging of its own, for work outside a
// request, such as an import.
func WithStaging(ctx context.Context) (context.Context, *Staging) {
	s := &Staging{}
	return context.WithValue(ctx, stagingKey{}, s), s
}

// Add registers release to be called when the request ends. settled is false if
// Unsettle was called. If there is no request or it has ended, Add returns false
// and does not call release.
func (s *Staging) Add(release func(settled bool)) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.releases = append(s.releases, release)
	return true
}

// Unsettle records that a commit of the request has failed in such a way that its
// rows may still appear: the disk could not flush it, or the connection was lost.
// Until that is settled, the files of these rows must not be removed.
func (s *Staging) Unsettle() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.unsettled = true
	s.mu.Unlock()
}

// End calls the registered functions. It must be called when the writes of the
// request are committed or have failed, also after a panic.
func (s *Staging) End() {
	s.mu.Lock()
	releases, settled := s.releases, !s.unsettled
	s.releases, s.ended = nil, true
	s.mu.Unlock()
	for _, release := range releases {
		release(settled)
	}
}
