package acl

import (
	"cmp"
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/query"
)

// Role is a name to which permissions can be granted. An account can have several roles.
type Role struct{ ID, Name string }

// Resource is a declared resource.
type Resource struct{ ID, Name string }

// Filter selects grants. An empty field selects all.
type Filter struct{ Subject, Resource string }

// Roles returns the roles, ordered by id.
func (s *Store) Roles(ctx context.Context) (roles []Role, err error) {
	err = s.eachItem(ctx, s.classes.role, nil, func(it *engine.Item) {
		if !isRemoved(it) {
			roles = append(roles, Role{it.ID, it.Text("name")})
		}
	})
	return roles, err
}

// Resources returns the declared resources, ordered by id.
func (s *Store) Resources(ctx context.Context) (resources []Resource, err error) {
	err = s.eachItem(ctx, s.classes.resource, nil, func(it *engine.Item) {
		if !isRemoved(it) {
			resources = append(resources, Resource{it.ID, it.Text("name")})
		}
	})
	return resources, err
}

// List returns the grants, ordered by subject and resource. All permissions of one subject on one
// resource are in one grant.
func (s *Store) List(ctx context.Context, f Filter) ([]engine.Grant, error) {
	var grants []engine.Grant
	err := s.eachPermission(ctx, f, func(p permission) { grants = append(grants, p.Grant) })
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(grants, func(a, b engine.Grant) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Resource, b.Resource))
	})
	together := grants[:0]
	for _, g := range grants {
		if n := len(together); n > 0 && together[n-1].Subject == g.Subject && together[n-1].Resource == g.Resource {
			together[n-1].Permission |= g.Permission
			continue
		}
		together = append(together, g)
	}
	return together, nil
}

// permission is one stored permission.
type permission struct {
	engine.Grant
	id, name string
}

// eachPermission calls visit for the stored permissions that the filter
// selects.
func (s *Store) eachPermission(ctx context.Context, f Filter, visit func(permission)) error {
	c := s.classes.permission
	var conditions []*engine.Filter
	for _, want := range [...]engine.Field{engine.Named("subject", f.Subject), engine.Named("resource", f.Resource)} {
		if want.Value == "" {
			continue
		}
		equal, err := query.Equal(c.Property(want.Name), want.Value)
		if err != nil {
			return err
		}
		conditions = append(conditions, equal)
	}
	return s.eachItem(ctx, c, engine.And(conditions...), func(it *engine.Item) {
		name := it.Text("permission")
		if bits, ok := engine.ParsePermission(name); ok {
			visit(permission{engine.Grant{Subject: it.Text("subject"), Resource: it.Text("resource"), Permission: bits}, it.ID, name})
		}
	})
}
