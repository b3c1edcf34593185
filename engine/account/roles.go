package account

import (
	"context"
	"slices"
	"strings"

	"restsrv/engine"
)

// attempts is the maximum number of tries of a change. A try fails if another change is made
// between its read and its write.
const attempts = 5

// SetRoles replaces the roles of an account. They take effect at once, in other
// processes within a second. Errors: NotFound, Invalid.
func (s *Store) SetRoles(ctx context.Context, id string, roles []string) error {
	_, err := s.changeRoles(ctx, id, func([]string) []string { return roles })
	return err
}

// AddRole adds a role to an account; changed is false if it had the role.
// Errors: NotFound, Invalid.
func (s *Store) AddRole(ctx context.Context, id, role string) (changed bool, err error) {
	return s.changeRoles(ctx, id, func(roles []string) []string { return append(roles, role) })
}

// RemoveRole removes a role from an account; changed is false if it did not
// have the role. Errors: NotFound.
func (s *Store) RemoveRole(ctx context.Context, id, role string) (changed bool, err error) {
	return s.changeRoles(ctx, id, func(roles []string) []string {
		return slices.DeleteFunc(roles, func(r string) bool { return r == role })
	})
}

// changeRoles replaces the roles of an account by the result of next.
func (s *Store) changeRoles(ctx context.Context, id string, next func([]string) []string) (changed bool, err error) {
	for n := 1; ; n++ {
		item, err := s.existingAccount(ctx, id)
		if err != nil {
			return false, err
		}
		before := splitRoles(item.Text("roles"))
		var roles []string
		for _, r := range next(slices.Clone(before)) {
			if !slices.Contains(roles, r) {
				roles = append(roles, r)
			}
		}
		if slices.Equal(before, roles) {
			return false, nil
		}
		if err := checkRoles(roles); err != nil {
			return false, err
		}
		v := engine.ValuesOf(s.classes.account, engine.Named("roles", strings.Join(roles, "\n")))
		match := &engine.Match{Revisions: []uint64{item.Revision}}
		_, err = s.data.Update(engine.AsServer(ctx), s.classes.account, id, v, engine.WriteOptions{Match: match})
		s.forgetAccount(id)
		switch code := engine.CodeOf(err); {
		case err == nil:
			s.auditChange(ctx, id, "roles", engine.Field{Name: "roles", Value: strings.Join(roles, ",")})
			return true, nil
		case code == engine.NotFound:
			return false, unknownAccount(id)
		case code != engine.Unmatched || n == attempts:
			return false, err
		}
	}
}

// auditChange records a change of an account in the audit log.
func (s *Store) auditChange(ctx context.Context, id, change string, details ...engine.Field) {
	e := engine.Event{Kind: engine.AccountChanged, Caller: engine.CallerFrom(ctx),
		Details: append(engine.Fields{{Name: "change", Value: change}, {Name: "account", Value: id}}, details...)}
	if a := engine.AccountFrom(ctx); a != nil {
		e.Account = a.ID
	}
	s.audit.Audit(ctx, e)
}
