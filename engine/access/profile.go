package access

import (
	"slices"
	"strings"
	"sync"

	"restsrv/engine"
)

// fullBit is what MayAll has besides the four permissions.
const fullBit = engine.MayAll &^ (engine.MayRead | engine.MayWrite | engine.MayDelete | engine.MayUse)

// profile is what accounts that are the same subjects, with the same limit, may
// do under one set of grants. It is the engine.Guard of their requests.
type profile struct {
	gate     *gate
	grants   *engine.Grants
	account  *engine.Account // one of them, for Stages
	subjects []string
	limit    engine.Permission

	full       bool                         // everything is allowed: there is nothing to guard
	everything engine.Permission            // on all resources
	classes    map[string]engine.Permission // by full name, on items of exactly that class
	items      map[string][]itemGrant       // by full name of their class

	unread    map[*part]bool // what is made of attributes that may not be read
	unwritten map[*attribute]bool
	views     *engine.Views // nil when nothing is hidden
	digest    func() []byte // of the grants that count for the account

	rows  sync.Map // rowsKey to *engine.Filter
	masks sync.Map // *engine.Class to *mask
}

type itemGrant struct {
	id         string
	permission engine.Permission
}

var _ engine.Guard = (*profile)(nil)

// limitOf is what the scope of its token leaves an account on the service that is
// asked.
func limitOf(a *engine.Account) engine.Permission {
	if a.Scope == nil {
		return engine.MayAll
	}
	return a.Limit
}

// newProfile computes one.
func newProfile(g *gate, known *generation, a *engine.Account) *profile {
	p := &profile{gate: g, grants: known.grants, subjects: a.Names(), limit: limitOf(a),
		account: &engine.Account{ID: a.ID, Name: a.Name, Roles: slices.Clone(a.Roles), Coactors: slices.Clone(a.Coactors), Properties: a.Properties},
		classes: map[string]engine.Permission{}, items: map[string][]itemGrant{}}
	for _, s := range p.subjects {
		for resource, may := range p.grants.Held(s) {
			p.hold(resource, may)
		}
	}
	p.everything &= p.limit
	p.full = p.everything.Has(engine.MayAll &^ fullBit)
	p.protect(known.protected)
	p.digest = sync.OnceValue(func() []byte { return p.grants.Digest(p.subjects...) })
	return p
}

// hold adds what is held on a resource.
func (p *profile) hold(resource string, may engine.Permission) {
	if resource == engine.Everything {
		p.everything |= may
		return
	}
	if name, ok := strings.CutPrefix(resource, engine.ClassResource); ok {
		p.classes[name] |= may
		return
	}
	if name, ok := strings.CutPrefix(resource, engine.ItemResource); ok {
		if class, id := p.gate.splitItem(name); class != "" {
			p.items[class] = append(p.items[class], itemGrant{id, may})
		}
	}
}

// splitItem splits class@namespace@id, or class@id of a class without namespace.
func (g *gate) splitItem(name string) (class, id string) {
	at := 0
	for range 2 {
		i := strings.IndexByte(name[at:], '@')
		if i < 0 {
			break
		}
		if c, err := g.cfg.Meta.Class(name[:at+i]); err == nil {
			class, id = c.FullName, name[at+i+1:]
		}
		at += i + 1
	}
	return class, id
}

// protect finds the attributes that the account may not read or write.
func (p *profile) protect(protected map[*attribute][]string) {
	if p.full || len(protected) == 0 {
		return
	}
	var unread []*attribute
	p.unwritten = map[*attribute]bool{}
	for a, resources := range protected {
		may := p.everything
		for _, r := range resources {
			may |= p.grants.On(r, p.subjects...) & p.limit
		}
		if !may.Has(engine.MayRead) {
			unread = append(unread, a)
		}
		if !may.Has(engine.MayWrite) {
			p.unwritten[a] = true
		}
	}
	s := p.gate.schema()
	for property, a := range s.of { // what is another side of the same links
		for _, same := range []*engine.Property{property.Back, property.Mirror} {
			if same != nil && protected[s.of[same]] != nil && p.unwritten[s.of[same]] {
				p.unwritten[a] = true
			}
		}
	}
	if p.unread = s.without(unread); len(unread) > 0 {
		p.views = engine.NewViews(func(property *engine.Property) bool { return p.Hides(engine.MayRead, property) })
	}
}

// generation is what is known of one set of grants.
type generation struct {
	grants    *engine.Grants
	protected map[*attribute][]string
	profiles  map[string]*profile
}

// maxProfiles bounds what is remembered of accounts with different subjects.
const maxProfiles = 10_000

// cache remembers profiles, of the newest grants alone.
type cache struct {
	mu  sync.RWMutex
	now *generation
}

// profile is that of an account. One that is remembered is found without
// allocation.
func (g *gate) profile(grants *engine.Grants, a *engine.Account) *profile {
	var room [256]byte
	key := profileKey(room[:0], a)
	if len(g.variables) > 0 {
		key = addVariables(string(key), a, g.variables)
	}
	g.known.mu.RLock()
	if now := g.known.now; now != nil && now.grants.Revision == grants.Revision {
		if p := now.profiles[string(key)]; p != nil {
			g.known.mu.RUnlock()
			return p
		}
	}
	g.known.mu.RUnlock()
	g.known.mu.Lock()
	defer g.known.mu.Unlock()
	now := g.known.now
	if now == nil || now.grants.Revision != grants.Revision {
		now = &generation{grants: grants, protected: g.schema().protected(grants, g.warn), profiles: map[string]*profile{}}
		g.known.now = now
	}
	if len(now.profiles) >= maxProfiles {
		clear(now.profiles)
	}
	p := now.profiles[string(key)]
	if p == nil {
		p = newProfile(g, now, a)
		now.profiles[string(key)] = p
	}
	return p
}

// profileKey tells accounts apart that have different profiles.
func profileKey(b []byte, a *engine.Account) []byte {
	b = append(b, byte(limitOf(a)))
	b = append(append(b, a.ID...), 0)
	for _, s := range a.Roles {
		b = append(append(b, s...), 0)
	}
	for _, s := range a.Coactors {
		b = append(append(b, s...), 0)
	}
	return b
}

// addVariables adds to a key what the stages of items depend on.
func addVariables(key string, a *engine.Account, variables []string) []byte {
	b := []byte(key)
	for _, name := range variables {
		v, _ := a.Variable(name)
		b = append(engine.AppendValue(append(b, 1), v), 0)
	}
	return b
}

func (g *gate) warn(resource, why string) {
	if g.cfg.Log != nil {
		g.cfg.Log.Warn("a resource protects nothing", "resource", resource, "why", why)
	}
}
