package script

import (
	"maps"
	"slices"
	"sync"
)

// registry is what all Runtimes of a process share: the generations that are
// not closed, and what services have beyond their generations.
type registry struct {
	mu          sync.Mutex
	generations map[*Generation]struct{}
	services    map[string]*lasting // by name
}

func newRegistry() *registry {
	return &registry{generations: map[*Generation]struct{}{}, services: map[string]*lasting{}}
}

func (r *registry) add(g *Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generations[g] = struct{}{}
}

func (r *registry) remove(g *Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.generations, g)
}

func (r *registry) list() []*Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.generations))
}

// lasting is what a service has beyond its versions, by its name.
type lasting struct {
	counters counters
	store    *store
}

// lasting returns what a service of that name has, and had before. A new store
// may hold so many bytes.
func (r *registry) lasting(name string, bytes int) *lasting {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.services[name]
	if l == nil {
		l = &lasting{store: newStore(bytes)}
		r.services[name] = l
	}
	return l
}

func (r *registry) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.services, name)
}

// all are the services that there were, by name.
func (r *registry) all() map[string]*lasting {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.services)
}

// lastingOf returns what a service of that name has, and had before.
func (r *Runtime) lastingOf(name string) *lasting { return r.registry.lasting(name, r.limits.Shared) }
