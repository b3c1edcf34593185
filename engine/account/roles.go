package account

import (
	"context"
	"slices"
	"strings"

	"restsrv/engine"
)

// attempts is how often a change is made again because another one came
// between reading and writing.
const attempts = 5

// SetRoles gives an account exactly these roles. That counts at once, in other
// processes within a second. Errors: NotFound, Invalid.
func (s *Store) SetRoles(ctx context.Context, id string, roles []string) error {
	_, err := s.changeRoles(ctx, id, func([]string) []string { return roles })
	return err
}

// AddRole gives an account one more role; changed is false when it has it.
// Errors: NotFound, Invalid.
func (s *Store) AddRole(ctx context.Context, id, role string) (changed bool, err error) {
	return s.changeRoles(ctx, id, func(roles []string) []string { return append(roles, role) })
}

// RemoveRole takes a role from an account; changed is false when it has it not.
// Errors: NotFound.
func (s *Store) RemoveRole(ctx context.Context, id, role string) (changed bool, err error) {
	return s.changeRoles(ctx, id, func(roles []string) []string {
		return slices.DeleteFunc(roles, func(r string) bool { return r == role })
	})
}

// changeRoles stores the roles that next makes of the present ones.
func (s *Store) changeRoles(ctx context.Context, id string, next func([]string) []string) (changed bool, err error) {
	for n := 1; ; n++ {
		item, err := s.existing(ctx, id)
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
			s.told(ctx, id, "roles", engine.Field{Name: "roles", Value: strings.Join(roles, ",")})
			return true, nil
		case code == engine.NotFound:
			return false, unknown(id)
		case code != engine.Unmatched || n == attempts:
			return false, err
		}
	}
}

// told tells the auditor what happened to an account.
func (s *Store) told(ctx context.Context, id, change string, details ...engine.Field) {
	e := engine.Event{Kind: engine.AccountChanged, Caller: engine.CallerFrom(ctx),
		Details: append(engine.Fields{{Name: "change", Value: change}, {Name: "account", Value: id}}, details...)}
	if a := engine.AccountFrom(ctx); a != nil {
		e.Account = a.ID
	}
	s.audit.Audit(ctx, e)
}
