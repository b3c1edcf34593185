package acl

import (
	"context"
	"errors"
	"strings"

	"restsrv/engine"
)

// AdminRole is the role of administrators. It may do everything.
const AdminRole = "admin"

// EnsureAdmin stores the role of administrators and its grant. It has no effect if they exist.
func (s *Store) EnsureAdmin(ctx context.Context) error {
	return s.save(ctx, append([]engine.Record{s.roleRecord(AdminRole, "Administrator")},
		s.grantRecords(engine.Grant{Subject: AdminRole, Resource: engine.Everything, Permission: engine.MayAll})...))
}

// AddRole creates a role without grants. Errors: Invalid if the name is not valid, and Invalid
// with the reason duplicate if the role exists.
func (s *Store) AddRole(ctx context.Context, id, name string) error {
	if err := CheckRole(id); err != nil {
		return err
	}
	if err := checkCaption(name); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	item, err := s.find(ctx, s.classes.role, id)
	if err != nil {
		return err
	}
	if item != nil && !isRemoved(item) {
		return engine.Errorf(engine.Invalid, "duplicate", "there is a role %s already", engine.Quote(id))
	}
	if err := s.save(ctx, []engine.Record{s.roleRecord(id, name)}); err != nil {
		return err
	}
	s.auditChange(ctx, "role added", engine.Field{Name: "role", Value: id})
	return nil
}

// RemoveRole removes a role and revokes all its grants. Its name stays stored, so
// that no acl file creates it again. Accounts that have the role keep its name,
// which gives them no permissions. Errors: NotFound.
func (s *Store) RemoveRole(ctx context.Context, id string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	item, err := s.find(ctx, s.classes.role, id)
	if err != nil {
		return err
	}
	if item == nil || isRemoved(item) {
		return engine.Errorf(engine.NotFound, "unknown-role", "there is no role %s", engine.Quote(id))
	}
	_, err = s.changeGrants(ctx, func(ctx context.Context) ([]engine.Record, error) {
		records, err := s.revokeRecords(ctx, id)
		return append(records, systemRecord(s.classes.role, engine.Named("id", id), engine.Named("removed", true))), err
	})
	if err != nil {
		return err
	}
	s.auditChange(ctx, "role removed", engine.Field{Name: "role", Value: id})
	return nil
}

// RevokeAll revokes all grants of a subject. If an attribute was granted to it, the attribute stays
// declared: it remains hidden from accounts without a grant on it.
func (s *Store) RevokeAll(ctx context.Context, subject string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	changed, err := s.changeGrants(ctx, func(ctx context.Context) ([]engine.Record, error) { return s.revokeRecords(ctx, subject) })
	if err != nil || !changed {
		return err
	}
	s.auditChange(ctx, "revoked", engine.Field{Name: "subject", Value: subject})
	return nil
}

// revokeRecords returns the records that revoke all grants of a subject.
func (s *Store) revokeRecords(ctx context.Context, subject string) (records []engine.Record, err error) {
	resources := map[string]bool{}
	err = s.eachPermission(ctx, Filter{Subject: subject}, func(p permission) {
		records = append(records, s.revokedRecord(p.id))
		if strings.HasPrefix(p.Resource, engine.AttributeResource) && !resources[p.Resource] {
			resources[p.Resource] = true
			records = append(records, s.declaredRecord(p.Resource))
		}
	})
	return records, err
}

// Grant gives a subject permissions on a resource, and declares the resource.
// Errors: Invalid.
func (s *Store) Grant(ctx context.Context, g engine.Grant) error {
	if err := checkGrant(g); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.save(ctx, s.grantRecords(g)); err != nil {
		return err
	}
	s.auditGrant(ctx, "grant", g)
	return nil
}

// Deny revokes permissions that a subject has on the resource itself. It does not revoke grants on
// engine.Everything. An account can also keep the permissions through another subject, such as a
// role. If the resource is an attribute, it stays declared: it remains hidden from accounts without
// a grant on it. changed is false if the subject had none of the permissions. Errors: Invalid.
func (s *Store) Deny(ctx context.Context, g engine.Grant) (changed bool, err error) {
	if err := checkGrant(g); err != nil {
		return false, err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	changed, err = s.changeGrants(ctx, func(ctx context.Context) ([]engine.Record, error) { return s.denyRecords(ctx, g) })
	if err != nil || !changed {
		return false, err
	}
	s.auditGrant(ctx, "deny", g)
	return true, nil
}

// denyRecords returns the records that revoke a grant. It returns no records if the
// subject does not have it.
func (s *Store) denyRecords(ctx context.Context, g engine.Grant) (records []engine.Record, err error) {
	var held engine.Permission
	rows := map[string]string{} // ids by permission
	err = s.eachPermission(ctx, Filter{Subject: g.Subject, Resource: g.Resource}, func(p permission) {
		held |= p.Permission
		rows[p.name] = p.id
	})
	if err != nil || held&g.Permission == 0 {
		return nil, err
	}
	left := held &^ g.Permission &^ (engine.MayAll &^ parts) // also revokes the bit that only full has
	for name, id := range rows {
		if bits, _ := engine.ParsePermission(name); !left.Has(bits) {
			records = append(records, s.revokedRecord(id))
		}
	}
	if left != 0 {
		records = append(records, s.grantRecords(engine.Grant{Subject: g.Subject, Resource: g.Resource, Permission: left})...)
	}
	if strings.HasPrefix(g.Resource, engine.AttributeResource) {
		records = append(records, s.declaredRecord(g.Resource))
	}
	return records, nil
}

// DeclareResource makes a resource known without granting it. If the resource is an attribute, it
// is then hidden from accounts without a grant on it. name is the caption of the resource; if name
// is "", a stored caption stays. Errors: Invalid.
func (s *Store) DeclareResource(ctx context.Context, resource, name string) error {
	if _, err := CheckResource(resource); err != nil {
		return err
	}
	if err := checkCaption(name); err != nil {
		return err
	}
	r := s.declaredRecord(resource)
	if name != "" {
		r.Values[s.classes.resource.Property("name").Index] = name
	}
	if err := s.save(ctx, []engine.Record{r}); err != nil {
		return err
	}
	s.auditChange(ctx, "resource declared", engine.Field{Name: "resource", Value: resource})
	return nil
}

// RemoveResource undoes DeclareResource. If the resource is an attribute, it is no longer hidden
// from accounts without a grant. Errors: NotFound, and Conflict if there are grants on the
// resource.
func (s *Store) RemoveResource(ctx context.Context, resource string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	_, err := s.changeGrants(ctx, func(ctx context.Context) ([]engine.Record, error) {
		item, err := s.find(ctx, s.classes.resource, resource)
		if err != nil {
			return nil, err
		}
		holder := ""
		err = s.eachPermission(ctx, Filter{Resource: resource}, func(p permission) { holder = p.Subject })
		switch {
		case err != nil:
			return nil, err
		case holder != "":
			return nil, engine.Errorf(engine.Conflict, "granted", "resource %s is granted to %s: deny that first", engine.Quote(resource), engine.Quote(holder))
		case item == nil || isRemoved(item):
			return nil, engine.Errorf(engine.NotFound, "unknown-resource", "no resource %s is declared", engine.Quote(resource))
		}
		return []engine.Record{systemRecord(s.classes.resource, engine.Named("id", resource), engine.Named("removed", true))}, nil
	})
	if err != nil {
		return err
	}
	s.auditChange(ctx, "resource removed", engine.Field{Name: "resource", Value: resource})
	return nil
}

// Touch makes all processes read the grants again. Use it if roles, resources or grants were
// written without this package, for example when an export is imported.
func (s *Store) Touch(ctx context.Context) error { return s.save(ctx, nil) }

// Forget makes this process read the grants again before their next use. It must be
// called when package engine/store has changed grants together with their items.
func (s *Store) Forget() { s.snapshot.forget() }

// checkGrant rejects a grant with an invalid subject, permission or resource.
func checkGrant(g engine.Grant) error {
	if err := checkSubject(g.Subject); err != nil {
		return err
	}
	if g.Permission == 0 {
		return engine.Errorf(engine.Invalid, "permission", "the permission is missing: expected %s", strings.Join(engine.PermissionNames(), ", "))
	}
	_, err := CheckResource(g.Resource)
	return err
}

// parts are the permissions that full consists of.
const parts = engine.MayRead | engine.MayWrite | engine.MayDelete | engine.MayUse

// grantRecords returns the records that store a grant.
func (s *Store) grantRecords(g engine.Grant) []engine.Record {
	records := []engine.Record{s.declaredRecord(g.Resource)}
	for _, name := range strings.Split(g.Permission.String(), ",") {
		records = append(records, systemRecord(s.classes.permission,
			engine.Named("id", permissionID(g.Subject, g.Resource, name)),
			engine.Named("subject", g.Subject), engine.Named("resource", g.Resource), engine.Named("permission", name)))
	}
	return records
}

// revokedRecord returns the record of a revoked permission; changeGrants deletes the item.
func (s *Store) revokedRecord(id string) engine.Record {
	return systemRecord(s.classes.permission, engine.Named("id", id), engine.Named("permission", nil))
}

func (s *Store) declaredRecord(resource string) engine.Record {
	return systemRecord(s.classes.resource, engine.Named("id", resource), engine.Named("removed", false))
}

func (s *Store) roleRecord(id, name string) engine.Record {
	return systemRecord(s.classes.role, engine.Named("id", id), engine.Named("name", name), engine.Named("removed", false))
}

// save writes the records and the item of #policy in one transaction. Use changeGrants
// for records that revoke permissions.
func (s *Store) save(ctx context.Context, records []engine.Record) error {
	_, err := s.data.Save(engine.AsServer(ctx), append(records, s.policyRecord()))
	s.snapshot.forget()
	return err
}

func (s *Store) policyRecord() engine.Record {
	return systemRecord(s.classes.policy, engine.Named("id", policyID))
}

// errUnchanged rolls back the transaction of a change without effect.
var errUnchanged = errors.New("the change of grants changes nothing")

// changeGrants saves records that depend on the stored grants. The function records reads the
// grants and returns these records; if it returns no records, the transaction is rolled back. It
// runs in a transaction that has already written the item of #policy. Until the transaction ends,
// no other process can change grants, and no change of an object's key can move the grants on that
// object to the new key.
func (s *Store) changeGrants(ctx context.Context, records func(context.Context) ([]engine.Record, error)) (changed bool, err error) {
	var items []*engine.Item
	err = engine.InTransaction(engine.AsServer(ctx), s.data, func(ctx context.Context) error {
		if _, err := s.data.Save(ctx, []engine.Record{s.policyRecord()}); err != nil {
			return err
		}
		list, err := records(ctx)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return errUnchanged
		}
		items, err = s.data.Save(ctx, list)
		return err
	})
	s.snapshot.forget()
	if errors.Is(err, errUnchanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.deleteRevoked(ctx, items)
	return true, nil
}

// deleteRevoked deletes the items that store revoked permissions. These items have no effect any more.
func (s *Store) deleteRevoked(ctx context.Context, items []*engine.Item) {
	for _, it := range items {
		if it.Class != s.classes.permission || it.Get("permission") != nil {
			continue
		}
		err := s.data.Delete(engine.AsServer(ctx), it.Class, it.ID, &engine.Match{Revisions: []uint64{it.Revision}})
		if code := engine.CodeOf(err); err != nil && code != engine.NotFound && code != engine.Unmatched {
			s.log.Warn("deleting a revoked permission failed: it has no effect any more", "permission", it.ID, "error", err)
		}
	}
}

func (s *Store) auditGrant(ctx context.Context, change string, g engine.Grant) {
	s.auditChange(ctx, change, engine.Field{Name: "subject", Value: g.Subject},
		engine.Field{Name: "resource", Value: g.Resource}, engine.Field{Name: "permission", Value: g.Permission.String()})
}
