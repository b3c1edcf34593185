package acl

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// File holds the roles and resources of acl files.
type File struct {
	Roles     []FileRole
	Resources []FileResource
}

// FileRole is a role of an acl file, with its grants.
type FileRole struct {
	Where string // file and JSON path
	Role
	Grants []engine.Grant
}

// FileResource is a resource that an acl file declares.
type FileResource struct {
	Where string
	Resource
}

// Read adds the roles and resources of an acl file. It ignores a file that defines a single user,
// because this package does not store accounts. It leaves out entries with mistakes and adds the
// mistakes to the faults of the file.
func (f *File) Read(file jsonfile.Object) {
	if file.Value("users") == nil && file.Value("id") != nil {
		return
	}
	for i := range file.List("roles") {
		if o, ok := file.Element("roles", i); ok {
			f.readRole(o)
		}
	}
	for i := range file.List("resources") {
		if o, ok := file.Element("resources", i); ok {
			before := len(*o.Faults)
			id := o.Name("id")
			in := FileResource{o.Where(), Resource{id, captionOr(o.Name("name"), withoutPrefix(id))}}
			if len(*o.Faults) == before {
				refuse(o, checkCaption(in.Name), o.At("name"), in.Name, "a name")
				_, err := CheckResource(id)
				refuse(o, err, o.At("id"), id, "a resource")
			}
			if len(*o.Faults) == before {
				f.Resources = append(f.Resources, in)
			}
		}
	}
}

// captionOr returns the name, or the parameter instead if the name is empty. The result is cut to a
// length that can be stored.
func captionOr(name, instead string) string {
	return engine.Cut(cmp.Or(strings.TrimSpace(name), instead), maxName-1)
}

// withoutPrefix returns a resource without the prefix that names its kind.
func withoutPrefix(resource string) string {
	if _, rest, ok := strings.Cut(resource, ":::"); ok {
		return rest
	}
	return resource
}

// refuse reports whether err, the result of a check, is not nil. If so, it adds a fault for err.
func refuse(o jsonfile.Object, err error, path, found, expected string) bool {
	var e *engine.Error
	if errors.As(err, &e) {
		o.Fault(path, engine.Quote(found), expected+": "+e.Message)
	}
	return err != nil
}

func (f *File) readRole(o jsonfile.Object) {
	before := len(*o.Faults)
	id := o.Name("id")
	in := FileRole{Where: o.Where(), Role: Role{id, captionOr(o.Name("name"), id)}}
	if len(*o.Faults) == before && !refuse(o, CheckRole(id), o.At("id"), id, "the id of a role") {
		refuse(o, checkCaption(in.Name), o.At("name"), in.Name, "a name")
	}
	given, _ := o.Child("permissions")
	for _, field := range given.Fields {
		g := engine.Grant{Subject: id, Resource: field.Name}
		_, err := CheckResource(field.Name)
		refuse(o, err, given.At(field.Name), field.Name, "a resource")
		for i, v := range given.List(field.Name) {
			name, _ := v.(string)
			bits, ok := engine.ParsePermission(name)
			if !ok {
				o.Fault(jsonfile.Element(given.At(field.Name), i), jsonfile.Describe(v), "one of "+strings.Join(engine.PermissionNames(), ", "))
			}
			g.Permission |= bits
		}
		if g.Permission != 0 {
			in.Grants = append(in.Grants, g)
		}
	}
	if len(*o.Faults) == before {
		f.Roles = append(f.Roles, in)
	}
}

// Imported is the result of Import.
type Imported struct {
	Roles, Resources int
	Known            int // roles that exist or existed before; they are not changed
	Refused          []Refused
}

// Refused is a role or a resource that was not imported.
type Refused struct {
	Where string
	Err   error
}

// Import stores the roles with their grants, and declares the resources. It skips each role and
// resource that was stored before, even if it was changed or removed since then. An error is
// returned only if the database is not available or ctx ends.
func (s *Store) Import(ctx context.Context, f File) (Imported, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var done Imported
	refused := func(where string, err error) error {
		if code := engine.CodeOf(err); code == engine.Unavailable || code == engine.Timeout {
			return err
		}
		done.Refused = append(done.Refused, Refused{where, err})
		return nil
	}
	there := map[string]bool{}
	err := s.eachItem(ctx, s.classes.resource, nil, func(it *engine.Item) { there[it.ID] = true })
	if err != nil {
		return done, err
	}
	for _, r := range f.Roles {
		taken, err := s.importRole(ctx, r)
		switch {
		case err != nil:
			if err := refused(r.Where, err); err != nil {
				return done, err
			}
		case taken:
			done.Roles++
		default:
			done.Known++
		}
	}
	var records []engine.Record
	for _, r := range f.Resources {
		if err := checkDeclared(r.Resource); err != nil {
			if err := refused(r.Where, err); err != nil {
				return done, err
			}
			continue
		}
		if !there[r.ID] {
			there[r.ID] = true
			records = append(records, systemRecord(s.classes.resource, engine.Named("id", r.ID), engine.Named("name", r.Name), engine.Named("removed", false)))
		}
	}
	if len(records) == 0 {
		return done, nil
	}
	done.Resources = len(records)
	return done, s.save(ctx, records)
}

func checkDeclared(r Resource) error {
	if err := checkCaption(r.Name); err != nil {
		return err
	}
	_, err := CheckResource(r.ID)
	return err
}

// importRole stores a role if no role of that name was ever stored.
func (s *Store) importRole(ctx context.Context, r FileRole) (taken bool, err error) {
	if err := CheckRole(r.ID); err != nil {
		return false, err
	}
	if err := checkCaption(r.Name); err != nil {
		return false, err
	}
	item, err := s.find(ctx, s.classes.role, r.ID)
	if item != nil || err != nil {
		return false, err
	}
	records := []engine.Record{s.roleRecord(r.ID, r.Name)}
	for _, g := range r.Grants {
		if err := checkGrant(g); err != nil {
			return false, err
		}
		records = append(records, s.grantRecords(g)...)
	}
	return true, s.save(ctx, records)
}
