package workflow

import (
	"context"
	"slices"

	"restsrv/engine"
)

// other is an object that a transition changes in addition to the item. The item refers to this object.
type other struct {
	path   []*engine.Property // the references from the item to the object
	class  *engine.Class
	id     string // "" if the reference is null, so that the object must be created
	values engine.Values
}

// findOther returns the object that the assignment changes. all contains the objects that earlier assignments change.
// If the object is one of them, findOther returns the element of all; otherwise it adds a new element. values are the
// values that the transition has assigned to the item so far.
func (g *moving) findOther(ctx context.Context, all *[]*other, a *assignment, values engine.Values) (*other, error) {
	same := func(o *other) bool {
		return slices.EqualFunc(o.path, a.path, func(p, q *engine.Property) bool { return p.Name == q.Name })
	}
	if i := slices.IndexFunc(*all, same); i >= 0 {
		return (*all)[i], nil
	}
	o, err := g.findReferenced(engine.AsServer(ctx), a.path, values)
	if err != nil {
		return nil, err
	}
	*all = append(*all, o)
	return o, nil
}

// findReferenced follows a path of references from the item and returns the object at its end. If values contains a
// new value of the first reference, this value is used.
func (g *moving) findReferenced(ctx context.Context, path []*engine.Property, values engine.Values) (*other, error) {
	notThere := g.refuse(engine.NotTransferred, "the object that the transition changes is not there")
	c := g.item.Class.Base()
	first := c.Property(path[0].Name)
	var at *engine.Item
	switch v := values[first.Index].(type) {
	case nil:
	default:
		if v == engine.Absent {
			it, err := g.set.Store.Get(ctx, c, g.item.ID, loadsAlong(path)...)
			if err != nil {
				return nil, err
			}
			if at = it.Link(first).Item; at == nil && it.Values[first.Index] != nil {
				return nil, notThere
			}
			break
		}
		it, err := g.set.Store.Get(ctx, first.Target, engine.ValueText(v), loadsAlong(path[1:])...)
		if engine.CodeOf(err) == engine.NotFound {
			return nil, notThere
		}
		if err != nil {
			return nil, err
		}
		at = it
	}
	if at == nil && len(path) == 1 && first.Back == nil {
		return &other{path: path, class: first.Target, values: engine.NewValues(first.Target)}, nil
	}
	for _, p := range path[1:] {
		if at == nil {
			break
		}
		at = at.Link(at.Class.Property(p.Name)).Item
	}
	if at == nil {
		return nil, notThere
	}
	c = at.Class.Base()
	return &other{path: path, class: c, id: at.ID, values: engine.NewValues(c)}, nil
}

// loadsAlong returns the loads that are required to follow a path.
func loadsAlong(path []*engine.Property) []*engine.Load {
	if len(path) == 0 {
		return nil
	}
	return []*engine.Load{{Property: path[0], Next: loadsAlong(path[1:])}}
}

// writeOthers creates or changes the objects in others. The account needs the permission to do so, because the roles
// of a transition apply only to the item. If writeOthers creates an object, it adds the item's reference to this
// object to values.
func (g *moving) writeOthers(ctx context.Context, values engine.Values, others []*other) error {
	for _, o := range others {
		var it *engine.Item
		var err error
		if o.id == "" {
			it, err = g.data.Create(ctx, o.class, o.values, engine.WriteOptions{})
		} else {
			_, err = g.data.Update(ctx, o.class, o.id, o.values, engine.WriteOptions{})
		}
		if engine.CodeOf(err) == engine.NotFound { // NotFound also means that the account may not read the object
			return g.refuse(engine.NotAllowed, "the account may not do this")
		}
		if err != nil {
			return g.convertError(err)
		}
		if it == nil {
			continue
		}
		p := g.item.Class.Base().Property(o.path[0].Name)
		if values[p.Index], err = p.Cast(it.ID); err != nil {
			return g.convertError(err)
		}
	}
	return nil
}
