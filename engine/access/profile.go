package access

import (
	"slices"
	"strings"
	"sync"

	"restsrv/engine"
)

// fullBit is the bit of MayAll that is not one of the four single permissions.
const fullBit = engine.MayAll &^ (engine.MayRead | engine.MayWrite | engine.MayDelete | engine.MayUse)

// profile holds the permissions of all accounts with the same subjects and the
// same limit (see limitOf), under one set of grants. It is the engine.Guard of their
// requests.
type profile struct {
	gate     *gate
	grants   *engine.Grants
	account  *engine.Account // one of the accounts with this profile, for Stages
	subjects []string
	limit    engine.Permission

	full       bool                         // set if everything is allowed, so no guard is needed
	everything engine.Permission            // permissions on all resources
	classes    map[string]engine.Permission // permissions on items of exactly the class, by full name
	items      map[string][]itemGrant       // permissions on single items, by full name of the class

	unread    map[*part]bool // parts that show attributes that the account may not read
	unwritten map[*attribute]bool
	views     *engine.Views // nil if nothing is hidden
	digest    func() []byte // digest of the grants that count for the account

	rows       sync.Map // rowsKey to *engine.Filter
	redactions sync.Map // *engine.Class to *redaction
}

type itemGrant struct {
	id         string
	permission engine.Permission
}

var _ engine.Guard = (*profile)(nil)

// limitOf returns the permissions that the scope of the account's token allows on the
// called service.
func limitOf(a *engine.Account) engine.Permission {
	if a.Scope == nil {
		return engine.MayAll
	}
	return a.Limit
}

// newProfile computes the profile of an account.
func newProfile(g *gate, known *generation, a *engine.Account) *profile {
	p := &profile{gate: g, grants: known.grants, subjects: a.Names(), limit: limitOf(a),
		account: &engine.Account{ID: a.ID, Name: a.Name, Roles: slices.Clone(a.Roles), Coactors: slices.Clone(a.Coactors), Properties: a.Properties},
		classes: map[string]engine.Permission{}, items: map[string][]itemGrant{}}
	for _, s := range p.subjects {
		for resource, may := range p.grants.Held(s) {
			p.addHeld(resource, may)
		}
	}
	p.everything &= p.limit
	p.full = p.everything.Has(engine.MayAll &^ fullBit)
	p.protectAttributes(known.protected)
	p.digest = sync.OnceValue(func() []byte { return p.grants.Digest(p.subjects...) })
	return p
}

// addHeld adds a permission that a subject has on a resource.
func (p *profile) addHeld(resource string, may engine.Permission) {
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

// splitItem splits class@namespace@id, or class@id if the class has no namespace.
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

// protectAttributes records which attributes the account may not read or write. protected maps each
// attribute that has a resource of its own to the names of its resources.
func (p *profile) protectAttributes(protected map[*attribute][]string) {
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
	for property, a := range s.of { // properties that show the same links from the other side
		for _, same := range []*engine.Property{property.Back, property.Mirror} {
			if same != nil && protected[s.of[same]] != nil && p.unwritten[s.of[same]] {
				p.unwritten[a] = true
			}
		}
	}
	if p.unread = s.partsShowing(unread); len(unread) > 0 {
		p.views = engine.NewViews(func(property *engine.Property) bool { return p.Hides(engine.MayRead, property) })
	}
}

// generation is everything that is computed from one set of grants.
type generation struct {
	grants    *engine.Grants
	protected map[*attribute][]string
	profiles  map[string]*profile
}

// maxProfiles is the number of profiles at which the cache is cleared.
const maxProfiles = 10_000

// cache holds the profiles for the newest set of grants.
type cache struct {
	mu  sync.RWMutex
	now *generation
}

// cachedProfile returns the profile of an account. If it is cached, this does not
// allocate.
func (g *gate) cachedProfile(grants *engine.Grants, a *engine.Account) *profile {
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
		now = &generation{grants: grants, protected: g.schema().protectedAttributes(grants, g.warnUnprotected), profiles: map[string]*profile{}}
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

// profileKey appends the key of the account in the cache. Accounts with different
// profiles have different keys.
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

// addVariables appends the variables of the account on which stages depend.
func addVariables(key string, a *engine.Account, variables []string) []byte {
	b := []byte(key)
	for _, name := range variables {
		v, _ := a.Variable(name)
		b = append(engine.AppendValue(append(b, 1), v), 0)
	}
	return b
}

func (g *gate) warnUnprotected(resource, why string) {
	if g.cfg.Log != nil {
		g.cfg.Log.Warn("a resource has no effect", "resource", resource, "why", why)
	}
}
