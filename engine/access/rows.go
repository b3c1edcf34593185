package access

import "restsrv/engine"

// ofClasses returns the condition that the class of an item is one of the classes. Items of their
// descendants do not match.
func ofClasses(classes []*engine.Class) *engine.Filter {
	names := make([]any, len(classes))
	for i, c := range classes {
		names[i] = c.FullName
	}
	return &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(engine.ClassName), List: names}
}

// ofIDs returns the condition that an item of c has one of the ids. An id is
// ignored if it cannot be a key of c.
func ofIDs(c *engine.Class, ids []string) *engine.Filter {
	id := engine.ItemID
	if key := c.KeyProperties(); len(key) == 1 {
		id = key[0]
	}
	list := make([]any, 0, len(ids))
	for _, text := range ids {
		if v, ok := c.KeyValues(text); ok {
			list = append(list, v[0])
		}
	}
	if len(list) == 0 {
		return engine.Never()
	}
	return &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(id), List: list}
}

// permissions are the four single permissions.
var permissions = [...]engine.Permission{engine.MayRead, engine.MayWrite, engine.MayDelete, engine.MayUse}

// isSingle reports whether p is a single permission.
func isSingle(p engine.Permission) bool {
	for _, one := range permissions {
		if p == one {
			return true
		}
	}
	return false
}

type rowsKey struct {
	permission engine.Permission
	class      *engine.Class
}

// Rows implements engine.Guard.
func (p *profile) Rows(may engine.Permission, c *engine.Class) *engine.Filter {
	c = c.Base()
	key := rowsKey{may, c}
	if f, ok := p.rows.Load(key); ok {
		return f.(*engine.Filter)
	}
	f, _ := p.rows.LoadOrStore(key, p.rowsCondition(may, c, nil))
	return f.(*engine.Filter)
}

// rowsCondition computes the result of Rows. changed holds the names of the properties that a write
// changes.
func (p *profile) rowsCondition(may engine.Permission, c *engine.Class, changed []string) *engine.Filter {
	switch {
	case may == 0 || p.everything.Has(may&^fullBit):
		return nil
	case !isSingle(may):
		var all []*engine.Filter
		for _, one := range permissions {
			if may.Has(one) {
				all = append(all, p.rowsCondition(one, c, changed))
			}
		}
		return engine.Both(all...)
	case !p.limit.Has(may):
		return engine.Never()
	}
	var whole []*engine.Class
	var parts []*engine.Filter
	classes := 0
	for _, d := range withDescendants(c) {
		if d.Abstract {
			continue
		}
		classes++
		switch f := p.exactCondition(may, d, changed); {
		case f.Always():
			whole = append(whole, d)
		case f.Never():
		case d == c && len(c.Descendants) == 0:
			parts = append(parts, f)
		default:
			parts = append(parts, engine.Both(ofClasses([]*engine.Class{d}), f))
		}
	}
	switch {
	case classes == 0: // abstract and without descendants: there are no items
		return p.exactCondition(may, c, changed)
	case len(whole) == classes:
		return nil
	case len(whole) > 0:
		parts = append([]*engine.Filter{ofClasses(whole)}, parts...)
	}
	return engine.Either(parts...)
}

// exactCondition returns the condition for items of exactly class c.
func (p *profile) exactCondition(may engine.Permission, c *engine.Class, changed []string) *engine.Filter {
	if p.onClass(c).Has(may) {
		return nil
	}
	var ids []string
	for _, g := range p.items[c.FullName] {
		if g.permission.Has(may) {
			ids = append(ids, g.id)
		}
	}
	given := p.itemCondition(may, c)
	if may == engine.MayWrite && !given.Never() {
		for _, name := range changed {
			if kept := p.gate.cfg.Stages.Keeps(name, c, p.account); kept != nil {
				given = engine.Both(given, engine.Not(kept))
			}
		}
	}
	return engine.Either(ofIDs(c, ids), given)
}

// itemCondition returns the condition under which an item itself gives the account the permission: by a role that
// the item gives (see RoleMap), or by its stage in a workflow (see Stages).
func (p *profile) itemCondition(may engine.Permission, c *engine.Class) *engine.Filter {
	if !p.limit.Has(may) {
		return engine.Never()
	}
	var all []*engine.Filter
	for _, role := range p.gate.cfg.RoleMap.rolesOf(c) {
		if role.permissionsOn(p.grants, c).Has(may) {
			all = append(all, role.holderFilter(p.subjects))
		}
	}
	if p.gate.cfg.Stages != nil {
		if f := p.gate.cfg.Stages.Rows(may, c, p.account); f != nil {
			all = append(all, f)
		}
	}
	return engine.Either(all...)
}

// onClass returns the permissions of the account on all items of exactly class
// c.
func (p *profile) onClass(c *engine.Class) engine.Permission {
	return (p.everything | p.classes[c.FullName]) & p.limit
}

// Creates implements engine.Guard: an account may create items if it has a grant
// on the class, or by a role that the new item gives.
func (p *profile) Creates(c *engine.Class) bool {
	c = c.Base()
	return p.onClass(c).Has(engine.MayUse) || !p.itemCondition(engine.MayUse, c).Never()
}

// Hides implements engine.Guard.
func (p *profile) Hides(may engine.Permission, property *engine.Property) bool {
	if len(p.unread) == 0 && len(p.unwritten) == 0 {
		return false
	}
	a := p.gate.schema().of[property]
	if a == nil {
		return false
	}
	return may.Has(engine.MayRead) && p.unread[a.value] || may.Has(engine.MayWrite) && p.unwritten[a]
}
