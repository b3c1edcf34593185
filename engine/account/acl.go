package account

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// ACL holds the accounts of the files of an acl folder. Package engine/acl
// reads the roles and grants of these files.
type ACL struct {
	Accounts []ACLAccount
}

// ACLAccount is an account of an acl file. Its password may be missing, plain
// text, a hash in our format, or a hash in the format of IONDV.
type ACLAccount struct {
	Where string // file and JSON path
	Account
	Password, Hash string
}

// ReadACL adds the users of an acl file, or the one user that the whole file
// defines. If an entry has mistakes, it is left out and the mistakes are added
// to the faults of the file.
func (a *ACL) ReadACL(file jsonfile.Object) {
	if file.Value("users") == nil && file.Value("id") != nil {
		a.readAccount(file)
		return
	}
	for i := range file.List("users") {
		if o, ok := file.Element("users", i); ok {
			a.readAccount(o)
		}
	}
}

func (a *ACL) readAccount(o jsonfile.Object) {
	before := len(*o.Faults)
	in := ACLAccount{Where: o.Where()}
	login, kind := cmp.Or(o.Name("id"), o.Name("name")), cmp.Or(o.Text("type"), "local")
	in.ID = login + "@" + kind
	if strings.Contains(login, "@") && o.Value("type") == nil {
		in.ID = login
	}
	in.Name = cmp.Or(o.Text("name"), login)
	in.Disabled = o.Flag("disabled", false)
	in.NeedPwdReset = o.Flag("needPwdReset", true)
	if pwd, ok := o.Value("pwd").(engine.Fields); ok {
		in.Hash = strings.TrimSpace(jsonfile.Object{File: o.File, Path: o.At("pwd"), Fields: pwd, Faults: o.Faults}.Text("hash"))
	} else {
		in.Password = o.Name("pwd")
	}
	for i, role := range o.List("roles") {
		name, ok := role.(string)
		if !ok {
			o.Fault(jsonfile.Element(o.At("roles"), i), jsonfile.Describe(role), "the id of a role")
			continue
		}
		in.Roles = append(in.Roles, name)
	}
	if properties, ok := o.Child("properties"); ok {
		in.Properties = properties.Fields
	}
	if len(*o.Faults) == before {
		in.check(o)
	}
	if len(*o.Faults) == before {
		a.Accounts = append(a.Accounts, in)
	}
}

// check adds a fault if the account has values that cannot be stored.
func (a ACLAccount) check(o jsonfile.Object) {
	field := "id"
	if o.Name("id") == "" && o.Value("name") != nil {
		field = "name"
	}
	wrong := func(err error, path, found, expected string) bool {
		var e *engine.Error
		if errors.As(err, &e) {
			o.Fault(path, found, expected+": "+e.Message)
		}
		return err != nil
	}
	if strings.HasPrefix(a.ID, "@") {
		o.Fault(o.At(field), "", "the name of an account")
		return
	}
	if wrong(checkID(a.ID), o.At(field), engine.Quote(a.ID), "the name of an account") {
		return
	}
	wrong(checkText("name", a.Name, maxID), o.At("name"), engine.Quote(a.Name), "a name")
	for i, role := range a.Roles {
		wrong(checkRoles([]string{role}), jsonfile.Element(o.At("roles"), i), engine.Quote(role), "the id of a role")
	}
	if a.Hash != "" && parseHash(a.Hash).algorithm == malformed {
		o.Fault(jsonfile.Member(o.At("pwd"), "hash"), "text", "a hash: argon2id or pbkdf2$iterations$hash$salt")
	}
}

// Imported is the result of Import.
type Imported struct {
	Accounts int
	Known    int // accounts that exist or existed before; they are not changed
	Refused  []Refused
	Weak     []string // positions of imported accounts with passwords that CheckPassword rejects
}

// Refused is an account that was not imported.
type Refused struct {
	Where string
	Err   error
}

// Import stores the accounts that do not exist, except accounts that an earlier import has
// stored. It records the names of stored accounts, so that a later import does not create an
// account again after the account was deleted. An error is returned only if the database is not
// available or ctx ends.
func (s *Store) Import(ctx context.Context, acl ACL) (Imported, error) {
	var done Imported
	for _, a := range acl.Accounts {
		taken, err := s.importAccount(ctx, a)
		switch code := engine.CodeOf(err); {
		case err != nil && (code == engine.Unavailable || code == engine.Timeout):
			return done, err
		case err != nil:
			done.Refused = append(done.Refused, Refused{a.Where, err})
		case taken:
			done.Accounts++
			if a.Hash == "" && a.Password != "" && CheckPassword(a.Password) != nil {
				done.Weak = append(done.Weak, a.Where)
			}
		default:
			done.Known++
		}
	}
	return done, nil
}

// importAccount stores an account if no account of that name was ever stored.
func (s *Store) importAccount(ctx context.Context, a ACLAccount) (taken bool, err error) {
	for _, there := range [...]struct {
		class *engine.Class
		id    string
	}{{s.classes.account, a.ID}, {s.classes.seen, markOf(a.ID)}} {
		if item, err := s.find(ctx, there.class, there.id); err != nil || item != nil {
			return false, err
		}
	}
	records, err := s.accountRecords(ctx, a)
	if err != nil {
		return false, err
	}
	records = append(records, s.usedRecord(a.ID))
	if _, err := s.data.Save(engine.AsServer(ctx), records); err != nil {
		return false, err
	}
	s.forgetAccount(a.ID)
	s.auditChange(ctx, a.ID, "added")
	return true, nil
}

// usedRecord returns the record that marks an account name as used.
func (s *Store) usedRecord(id string) engine.Record {
	return engine.Record{Class: s.classes.seen, Values: engine.ValuesOf(s.classes.seen, engine.Named("id", markOf(id)))}
}

func markOf(id string) string { return "account " + id }

func (s *Store) accountRecords(ctx context.Context, a ACLAccount) ([]engine.Record, error) {
	if err := checkID(a.ID); err != nil {
		return nil, err
	}
	if err := checkAccount(a.Account); err != nil {
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
