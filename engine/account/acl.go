package account

import (
	"cmp"
	"context"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// ACL is what files of an acl folder say of accounts; what roles may do is read
// by engine/acl.
type ACL struct {
	Accounts []ACLAccount
}

// ACLAccount is an account of an acl file. Its password is given in the clear,
// as a hash of ours or of the ancestor, or not at all.
type ACLAccount struct {
	Where string // file and JSON path
	Account
	Password, Hash string
}

// ReadACL adds the users of an acl file, or the one user whose fields are those
// of the file. What is wrong is added to the faults of the file, entry by
// entry.
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
		a.Accounts = append(a.Accounts, in)
	}
}

// Imported says what Import did.
type Imported struct {
	Accounts int
	Known    int // accounts that were there, or had been: they stay as they are
	Refused  []Refused
	Weak     []string // where imported accounts are defined whose passwords CheckPassword refuses
}

// Refused is an account that was not taken.
type Refused struct {
	Where string
	Err   error
}

// Import stores accounts when they come for the first time. It remembers their
// names: what was changed or deleted since stays so. The error is that of a
// database that is away, or of ctx.
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

// importAccount stores an account that has never been there.
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
	records = append(records, s.mark(a.ID))
	if _, err := s.data.Save(engine.AsServer(ctx), records); err != nil {
		return false, err
	}
	s.forgetAccount(a.ID)
	s.told(ctx, a.ID, "added")
	return true, nil
}

// mark is what is remembered of an account that has been there.
func (s *Store) mark(id string) engine.Record {
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
