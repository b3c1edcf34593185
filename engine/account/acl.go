package account

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// ACL is what files of an acl folder say of accounts and of what they may do.
type ACL struct {
	Accounts []ACLAccount
	Roles    []ACLRole
}

// ACLAccount is an account of an acl file. Its password is given in the clear,
// as a hash of ours or of the ancestor, or not at all.
type ACLAccount struct {
	Where string // file and JSON path
	Account
	Password, Hash string
}

// ACLRole is a role of an acl file and what it may do.
type ACLRole struct {
	Where       string
	ID, Name    string
	Permissions []Permission
}

// Permission allows a role or an account something on a resource.
type Permission struct{ Resource, Permission string }

// permissions are those that there are.
func permissions() []string { return []string{"read", "write", "delete", "use", full} }

// ReadACL adds what an acl file says: its roles and users, or one user whose
// fields are those of the file.
// What is wrong is added to the faults of the file, entry by entry.
func (a *ACL) ReadACL(file jsonfile.Object) {
	if file.Value("users") == nil && file.Value("id") != nil {
		a.readAccount(file)
		return
	}
	for i := range file.List("roles") {
		if o, ok := element(file, "roles", i); ok {
			a.readRole(o)
		}
	}
	for i := range file.List("users") {
		if o, ok := element(file, "users", i); ok {
			a.readAccount(o)
		}
	}
}

// element is an object of an array of the file.
func element(file jsonfile.Object, name string, i int) (jsonfile.Object, bool) {
	v := file.List(name)[i]
	o := jsonfile.Object{File: file.File, Path: jsonfile.Element(file.At(name), i), Faults: file.Faults}
	fields, ok := v.(engine.Fields)
	if !ok {
		o.Fault(o.Path, jsonfile.Describe(v), "an object")
	}
	o.Fields = fields
	return o, ok
}

func where(o jsonfile.Object) string {
	if o.Path == "" {
		return o.File
	}
	return o.File + ": " + o.Path
}

func (a *ACL) readAccount(o jsonfile.Object) {
	before := len(*o.Faults)
	in := ACLAccount{Where: where(o)}
	login, kind := first(plainText(o, "id"), plainText(o, "name")), first(o.Text("type"), "local")
	in.ID = login + "@" + kind
	if strings.Contains(login, "@") && o.Value("type") == nil {
		in.ID = login
	}
	in.Name = first(o.Text("name"), login)
	in.Disabled = o.Flag("disabled", false)
	in.NeedPwdReset = o.Flag("needPwdReset", true)
	if pwd, ok := o.Value("pwd").(engine.Fields); ok {
		in.Hash = strings.TrimSpace(jsonfile.Object{File: o.File, Path: o.At("pwd"), Fields: pwd, Faults: o.Faults}.Text("hash"))
	} else {
		in.Password = plainText(o, "pwd")
	}
	for i, role := range o.List("roles") {
		name, ok := role.(string)
		if !ok {
			o.Fault(jsonfile.Element(o.At("roles"), i), jsonfile.Describe(role), "the id of a role")
			continue
		}
		in.Roles = append(in.Roles, name)
	}
	if len(*o.Faults) == before {
		a.Accounts = append(a.Accounts, in)
	}
}

func (a *ACL) readRole(o jsonfile.Object) {
	before := len(*o.Faults)
	in := ACLRole{Where: where(o), ID: plainText(o, "id")}
	in.Name = first(o.Text("name"), in.ID)
	given, _ := o.Child("permissions")
	for _, f := range given.Fields {
		for i, v := range given.List(f.Name) {
			name, _ := v.(string)
			if !slices.Contains(permissions(), name) {
				o.Fault(jsonfile.Element(given.At(f.Name), i), jsonfile.Describe(v), "one of "+strings.Join(permissions(), ", "))
				continue
			}
			in.Permissions = append(in.Permissions, Permission{f.Name, name})
		}
	}
	if len(*o.Faults) == before {
		a.Roles = append(a.Roles, in)
	}
}

// plainText reads text, or a number as YAML makes one of digits.
func plainText(o jsonfile.Object, name string) string {
	if v := o.Value(name); v != nil {
		if s, ok := v.(string); ok {
			return s
		}
		if n, ok := v.(json.Number); ok {
			return string(n)
		}
	}
	return o.Text(name)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Imported says what Import did.
type Imported struct {
	Accounts, Roles int
	Known           int // accounts and roles that were there, or had been: they stay as they are
	Refused         []Refused
}

// Refused is an account or a role that was not taken.
type Refused struct {
	Where string
	Err   error
}

// Import stores accounts and roles when they come for the first time. It
// remembers their names: what was changed or deleted since stays so. The error
// is that of a database that is away, or of ctx.
func (s *Store) Import(ctx context.Context, acl ACL) (Imported, error) {
	var done Imported
	take := func(where, mark string, records func() ([]engine.Record, error), count *int) error {
		known, err := s.seen(ctx, mark)
		if err != nil {
			return err
		}
		if known {
			done.Known++
			return nil
		}
		all, err := records()
		if err == nil {
			all = append(all, engine.Record{Class: s.classes.seen, Values: values(s.classes.seen, set{"id", mark})})
			_, err = s.data.Save(asServer(ctx), all)
		}
		switch code := engine.CodeOf(err); {
		case err == nil:
			*count++
		case code == engine.Unavailable || code == engine.Timeout:
			return err
		default:
			done.Refused = append(done.Refused, Refused{where, err})
		}
		return nil
	}
	for _, r := range acl.Roles {
		records := func() ([]engine.Record, error) { return s.roleRecords(r) }
		if err := take(r.Where, "role "+r.ID, records, &done.Roles); err != nil {
			return done, err
		}
	}
	for _, a := range acl.Accounts {
		records := func() ([]engine.Record, error) { return s.accountRecords(ctx, a) }
		if err := take(a.Where, "account "+a.ID, records, &done.Accounts); err != nil {
			return done, err
		}
		s.forgetAccount(a.ID)
	}
	return done, nil
}

// seen reports whether an account or a role is there or has been.
func (s *Store) seen(ctx context.Context, mark string) (bool, error) {
	kind, id, _ := strings.Cut(mark, " ")
	class := map[string]*engine.Class{"account": s.classes.account, "role": s.classes.role}[kind]
	for c, key := range map[*engine.Class]string{class: id, s.classes.seen: mark} {
		if item, err := s.find(ctx, c, key); err != nil || item != nil {
			return err == nil, err
		}
	}
	return false, nil
}

func (s *Store) accountRecords(ctx context.Context, a ACLAccount) ([]engine.Record, error) {
	if err := checkID(a.ID); err != nil {
		return nil, err
	}
	if err := checkText("name", a.Name, maxID); err != nil {
		return nil, err
	}
	if err := checkRoles(a.Roles); err != nil {
		return nil, err
	}
	hash := a.Hash
	switch {
	case hash != "" && parseHash(hash).algorithm == malformed:
		return nil, engine.Errorf(engine.Invalid, "hash", "the hash of the password of %s is neither argon2id nor pbkdf2$iterations$hash$salt", engine.Quote(a.ID))
	case hash == "" && a.Password != "":
		var err error
		if hash, err = s.hasher.Hash(ctx, a.Password); err != nil {
			return nil, err
		}
	}
	return []engine.Record{{Class: s.classes.account, Values: s.newAccount(a.Account, hash)}}, nil
}

func (s *Store) roleRecords(r ACLRole) ([]engine.Record, error) {
	if err := checkRoles([]string{r.ID}); err != nil {
		return nil, err
	}
	if err := checkText("name", r.Name, maxID); err != nil {
		return nil, err
	}
	records := []engine.Record{{Class: s.classes.role, Values: values(s.classes.role, set{"id", r.ID}, set{"name", r.Name})}}
	for _, p := range r.Permissions {
		if err := checkText("resource", p.Resource, maxID); err != nil {
			return nil, err
		}
		records = append(records, engine.Record{Class: s.classes.permission, Values: values(s.classes.permission,
			set{"id", permissionID(r.ID, p.Resource, p.Permission)},
			set{"subject", r.ID}, set{"resource", p.Resource}, set{"permission", p.Permission})})
	}
	return records, nil
}
