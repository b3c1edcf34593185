package appdata

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/acl"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/transfer"
	"restsrv/engine/wire"
)

// ImportedACL is the result of importing the folder acl.
type ImportedACL struct {
	Accounts, Roles, Resources, Known int
	Faults                            engine.Faults // faults in the files
	Refused                           []string      // entries that the database refused
	Weak                              []string      // places of accounts with short passwords
}

// ImportACL imports the accounts, roles and resources in the folder dir. The folder need not exist.
func ImportACL(ctx context.Context, d *Database, dir string) (done ImportedACL, err error) {
	policy, accounts, faults, err := readACL(dir)
	if err != nil {
		return done, err
	}
	roles, err := d.Policy.Import(ctx, policy)
	if err != nil {
		return done, err
	}
	users, err := d.Accounts.Import(ctx, accounts)
	done = ImportedACL{Accounts: users.Accounts, Roles: roles.Roles, Resources: roles.Resources, Known: users.Known + roles.Known, Weak: users.Weak}
	for _, r := range roles.Refused {
		done.Refused = append(done.Refused, r.Where+": "+PlainError(r.Err).Error())
	}
	for _, r := range users.Refused {
		done.Refused = append(done.Refused, r.Where+": "+PlainError(r.Err).Error())
	}
	done.Faults = faults
	return done, err
}

// readACL reads the files in the folder dir. The folder need not exist. Invalid entries are
// reported as mistakes and left out.
func readACL(dir string) (policy acl.File, accounts account.ACL, faults engine.Faults, err error) {
	files := deploy.Directory(filepath.Dir(dir))
	entries, err := fs.ReadDir(files, filepath.Base(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return policy, accounts, nil, nil
	case errors.Is(err, engine.ErrOutside):
		return policy, accounts, nil, fmt.Errorf("%s: the folder is %w", dir, engine.ErrOutside)
	case err != nil:
		return policy, accounts, nil, PathCause(err)
	}
	for _, e := range entries {
		if e.IsDir() || !IsACLFile(e.Name()) {
			continue
		}
		name := path.Join(filepath.Base(dir), e.Name())
		fields, fault := readACLFile(files, name)
		if fault != nil {
			faults = append(faults, *fault)
			continue
		}
		file := jsonfile.Object{File: name, Fields: fields, Faults: &faults}
		policy.Read(file)
		accounts.ReadACL(file)
	}
	for i := range faults {
		faults[i].Level, faults[i].Code, faults[i].Resolution = mistake.ACLEntry.Level, mistake.ACLEntry.Code, mistake.ACLEntry.Resolution
	}
	return policy, accounts, (&deploy.Config{Dir: filepath.Dir(dir)}).Locate(faults), nil
}

// WeakPasswordText returns the warning about an imported account with a short password. where is
// the place of the account in the files.
func WeakPasswordText(where string) string {
	return fmt.Sprintf("%s: the account was imported, but its password has fewer than %d characters: restsrv user passwd changes it", where, account.MinPassword)
}

// RejectedEntries returns a line for each entry that was refused.
func (i ImportedACL) RejectedEntries() []string {
	all := slices.Clone(i.Refused)
	for _, f := range i.Faults {
		f.Resolution = ""
		all = append(all, f.String())
	}
	return all
}

// IsACLFile reports whether a file in the folder acl is imported, depending on its name.
func IsACLFile(name string) bool {
	return slices.Contains([]string{".yml", ".yaml", ".json"}, path.Ext(name))
}

func readACLFile(files fs.FS, name string) (engine.Fields, *engine.Fault) {
	const expected = "roles, resources, users or one user"
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, &engine.Fault{File: name, Found: PathCause(err).Error(), Expected: expected}
	}
	var v any
	if path.Ext(name) == ".json" {
		v, err = wire.Decode(text)
	} else {
		v, _, err = jsonfile.DecodeYAML(text)
	}
	if err != nil {
		return nil, jsonfile.Malformed(name, err, expected)
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, jsonfile.WholeFile(name, jsonfile.Describe(v), expected)
	}
	return fields, nil
}

// touchPolicy makes running servers read the grants again if an import has written grants. An
// import writes them directly, without engine/acl, so the servers would not notice.
func touchPolicy(ctx context.Context, d *Database, r *transfer.Report) error {
	if !slices.ContainsFunc(d.System.Policy, func(c *engine.Class) bool { return r.Taken[c.FullName] > 0 }) {
		return nil
	}
	return d.Policy.Touch(ctx)
}
