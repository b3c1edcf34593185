package main

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

// importedACL is the result of importing an acl folder.
type importedACL struct {
	accounts, roles, resources, known int
	faults                            engine.Faults // faults in the files
	refused                           []string      // entries that the database rejected
	weak                              []string      // positions of accounts with short passwords
}

// importACL imports the accounts, roles and resources of an acl folder, if it
// exists.
func importACL(ctx context.Context, d *database, dir string) (done importedACL, err error) {
	policy, accounts, faults, err := readACL(dir)
	if err != nil {
		return done, err
	}
	roles, err := d.policy.Import(ctx, policy)
	if err != nil {
		return done, err
	}
	users, err := d.accounts.Import(ctx, accounts)
	done = importedACL{accounts: users.Accounts, roles: roles.Roles, resources: roles.Resources, known: users.Known + roles.Known, weak: users.Weak}
	for _, r := range roles.Refused {
		done.refused = append(done.refused, r.Where+": "+plainError(r.Err).Error())
	}
	for _, r := range users.Refused {
		done.refused = append(done.refused, r.Where+": "+plainError(r.Err).Error())
	}
	done.faults = faults
	return done, err
}

// readACL reads the files of an acl folder, if it exists. Invalid entries are
// mistakes and left out.
func readACL(dir string) (policy acl.File, accounts account.ACL, faults engine.Faults, err error) {
	files := deploy.Directory(filepath.Dir(dir))
	entries, err := fs.ReadDir(files, filepath.Base(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return policy, accounts, nil, nil
	case errors.Is(err, engine.ErrOutside):
		return policy, accounts, nil, fmt.Errorf("%s: the folder is %w", dir, engine.ErrOutside)
	case err != nil:
		return policy, accounts, nil, unwrapPath(err)
	}
	for _, e := range entries {
		if e.IsDir() || !isACLFile(e.Name()) {
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

// weakPassword returns the warning for an imported account with a short password.
func weakPassword(where string) string {
	return fmt.Sprintf("%s: the account was imported, but its password has fewer than %d characters: restsrv user passwd changes it", where, account.MinPassword)
}

// rejectedEntries returns a line for each rejected entry.
func (i importedACL) rejectedEntries() []string {
	all := slices.Clone(i.refused)
	for _, f := range i.faults {
		f.Resolution = ""
		all = append(all, f.String())
	}
	return all
}

func isACLFile(name string) bool {
	return slices.Contains([]string{".yml", ".yaml", ".json"}, path.Ext(name))
}

func readACLFile(files fs.FS, name string) (engine.Fields, *engine.Fault) {
	const expected = "roles, resources, users or one user"
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, &engine.Fault{File: name, Found: unwrapPath(err).Error(), Expected: expected}
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

// touchPolicy makes running servers read the grants again if an import has
// written some. Otherwise they notice only changes by engine/acl itself.
func touchPolicy(ctx context.Context, d *database, r *transfer.Report) error {
	if !slices.ContainsFunc(d.system.policy, func(c *engine.Class) bool { return r.Taken[c.FullName] > 0 }) {
		return nil
	}
	return d.policy.Touch(ctx)
}
