package script

import (
	"maps"
	"slices"
	"sync"

	"restsrv/engine/script/shared"
	"restsrv/engine/script/vm"
)

// registry contains the state that all Runtimes of a process share: the open generations, and the data of services
// that outlives a generation.
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

// lasting contains the data of a service that all its versions share.
type lasting struct {
	counters vm.Counters
	store    *shared.Store
}

// lastingOf returns the data of the service with the given name. It creates the data at the first call; bytes is then
// the limit of the shared store.
func (r *registry) lastingOf(name string, bytes int) *lasting {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.services[name]
	if l == nil {
		l = &lasting{store: shared.NewStore(bytes)}
		r.services[name] = l
	}
	return l
}

func (r *registry) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.services, name)
}

// all returns the data of all services, by name of the service.
func (r *registry) all() map[string]*lasting {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.services)
}

// lastingOf returns the data of the service with the given name.
func (r *Runtime) lastingOf(name string) *lasting { return r.registry.lastingOf(name, r.limits.Shared) }

// Forget removes the metrics and the shared store of a service that no longer
// exists.
func (r *Runtime) Forget(name string) { r.registry.forget(name) }

// Metrics returns the metrics of all services that were ever loaded and not forgotten, by name of the service.
func (r *Runtime) Metrics() map[string]vm.Metrics {
	services := r.registry.all()
	all := make(map[string]vm.Metrics, len(services))
	for name, l := range services {
		m := l.counters.Snapshot()
		m.Shared, m.SharedUse = l.store.Size()
		all[name] = m
	}
	for _, g := range r.registry.list() {
		if m, ok := all[g.Name]; ok {
			g.Group.ReportState(&m)
			all[g.Name] = m
		}
	}
	return all
}

// Metrics returns the metrics of all services, by name of the service.
func (m *Manager) Metrics() map[string]vm.Metrics { return m.rt.Metrics() }
