package security

import (
	"maps"
	"slices"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

// shrinkTime is the maximum time for making a world smaller.
const shrinkTime = 60 * time.Second

// gateShrinker removes parts of a world as long as the finding remains.
type gateShrinker struct {
	testing.TB
	db    func(testing.TB) string
	found *gateFinding
	end   time.Time
}

// shrinkGateWorld returns the finding with the smallest world that it can find.
func shrinkGateWorld(t testing.TB, db func(testing.TB) string, f *gateFinding) *gateFinding {
	w := *makeGateWorld(f.world.Seed) // its classes are changed
	w.Requests = [gateAccounts][]gateRequest{}
	w.Requests[f.account] = f.world.Requests[f.account][:f.request+1]
	s := &gateShrinker{t, db, f, time.Now().Add(shrinkTime)}
	if !s.fails(&w) {
		return f // the finding depends on other worlds of the same server
	}
	last := w.Requests[f.account][f.request]
	alone := w
	alone.Requests[f.account] = []gateRequest{last}
	if !s.fails(&alone) {
		s.requests()
	}
	s.rows()
	s.grants()
	s.classes()
	return s.found
}

// fails plays a world and reports whether there is a finding. If so, it stores the finding in
// s.found.
func (s *gateShrinker) fails(w *gateWorld) bool {
	if time.Now().After(s.end) {
		return false
	}
	findings, err := playGateWorlds(s, s.db, []*gateWorld{w})
	if err != nil || len(findings) == 0 {
		return false
	}
	s.found = findings[0]
	return true
}

func (s *gateShrinker) requests() {
	account := s.found.account
	apptest.Halve(len(s.found.world.Requests[account])-1, func(from, to int) bool {
		w := *s.found.world
		w.Requests[account] = slices.Delete(slices.Clone(w.Requests[account]), from, to)
		return s.fails(&w)
	})
}

func (s *gateShrinker) rows() {
	apptest.Halve(len(s.found.world.Rows), func(from, to int) bool {
		w := *s.found.world
		w.Rows = slices.Delete(slices.Clone(w.Rows), from, to)
		return s.fails(&w)
	})
}

func (s *gateShrinker) grants() {
	account := s.found.account
	resources := slices.Sorted(maps.Keys(s.found.world.Accounts[account].Grants))
	apptest.Halve(len(resources), func(from, to int) bool {
		w := *s.found.world
		w.Accounts[account].Grants = maps.Clone(w.Accounts[account].Grants)
		for _, r := range resources[from:to] {
			delete(w.Accounts[account].Grants, r)
		}
		if !s.fails(&w) {
			return false
		}
		resources = slices.Delete(resources, from, to)
		return true
	})
	apptest.Halve(len(s.found.world.Accounts[account].Secrets), func(from, to int) bool {
		w := *s.found.world
		w.Accounts[account].Secrets = slices.Delete(slices.Clone(w.Accounts[account].Secrets), from, to)
		return s.fails(&w)
	})
}

// classes removes attributes and handlers. It changes the classes in place, because no other world
// uses them any more.
func (s *gateShrinker) classes() {
	w := s.found.world
	for _, c := range w.Classes {
		attempt := func(change func()) {
			before := *c
			change()
			if !s.fails(w) {
				*c = before
			}
		}
		if len(c.Handlers) > 0 {
			attempt(func() { c.Handlers = nil })
		}
		if c.Semantic != nil {
			attempt(func() { c.Semantic = nil })
		}
		if len(c.Dependencies) > 0 {
			attempt(func() { c.Dependencies = nil })
		}
		for i := len(c.Properties) - 1; i >= 0; i-- {
			attempt(func() { c.Properties = slices.Delete(slices.Clone(c.Properties), i, i+1) })
		}
	}
}
