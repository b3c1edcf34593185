package access

import (
	"context"
	"slices"

	"restsrv/engine"
)

// change is the guard of one write. An item can give a permission, by its stage or by a role. Such
// a permission may depend on the properties that the write changes.
type change struct {
	*profile
	properties map[*engine.Class][]string // names of the changed properties, by root class
}

// changeContext returns ctx with the guard for a write of the records and the records
// nested in them. It returns ctx itself if the account may do everything or if there
// are no stages.
func (p *profile) changeContext(ctx context.Context, all ...engine.Record) context.Context {
	if p == nil || p.gate.cfg.Stages == nil {
		return ctx
	}
	g := &change{p, map[*engine.Class][]string{}}
	for _, r := range all {
		if r.Make == nil {
			g.collectProperties(r.Class, r.Values)
		}
	}
	if len(g.properties) == 0 {
		return ctx
	}
	return engine.WithGuard(ctx, g)
}

func (g *change) collectProperties(c *engine.Class, v engine.Values) {
	for i, value := range v {
		if value == engine.Absent || i >= len(c.Properties) || ignoresValue(c.Properties[i], value) {
			continue
		}
		g.noteProperty(c, c.Properties[i].Name)
		switch value := value.(type) {
		case *engine.Record:
			if value != nil {
				g.collectProperties(value.Class, value.Values)
			}
		case *engine.Links:
			if value == nil {
				continue
			}
			if p := c.Properties[i]; p.Back != nil { // the members that are added and removed change too
				g.noteProperty(p.Target, p.Back.Name)
			}
			for _, m := range value.Add {
				if r, ok := m.(*engine.Record); ok && r != nil {
					g.collectProperties(r.Class, r.Values)
				}
			}
		}
	}
}

func (g *change) noteProperty(c *engine.Class, name string) {
	if root := c.Root(); !slices.Contains(g.properties[root], name) {
		g.properties[root] = append(g.properties[root], name)
	}
}

// Rows implements engine.Guard.
func (g *change) Rows(may engine.Permission, c *engine.Class) *engine.Filter {
	changed := g.properties[c.Root()]
	if !may.Has(engine.MayWrite) || len(changed) == 0 || g.grantedOnClasses(may, c.Base()) {
		return g.profile.Rows(may, c)
	}
	return g.rowsCondition(may, c.Base(), changed)
}

// grantedOnClasses reports whether grants on classes give the account the permission on all items
// of c. Roles that items give (RoleMap) do not count, even if all items give them, because stages
// can revoke their permissions.
func (p *profile) grantedOnClasses(may engine.Permission, c *engine.Class) bool {
	for _, d := range withDescendants(c) {
		if !d.Abstract && !p.onClass(d).Has(may) {
			return false
		}
	}
	return true
}

// Changes returns a condition on items of c: the account of ctx may change the named properties in
// one write if the item matches. A nil condition matches all items.
func (r *Repository) Changes(ctx context.Context, c *engine.Class, names []string) (*engine.Filter, error) {
	p, err := r.currentProfile(ctx)
	if err != nil || p == nil {
		return nil, err
	}
	c = c.Base()
	for _, name := range names {
		if property := c.Property(name); property != nil && p.Hides(engine.MayWrite, property) {
			return engine.Never(), nil
		}
	}
	if p.gate.cfg.Stages == nil {
		names = nil // no stage forbids a change
	}
	return p.rowsCondition(engine.MayWrite, c, names), nil
}
