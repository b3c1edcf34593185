package command_test

import (
	"context"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/command"
	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/acl"
	"restsrv/engine/deploy"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
	"restsrv/engine/store"
)

// olderClasses returns the classes #account, #role, #permission and #seen of versions in which
// resources and the policy had no classes.
func olderClasses(t *testing.T) map[string]*engine.Class {
	t.Helper()
	classes := map[string]*engine.Class{}
	for name, properties := range map[string]string{
		"#account": "id name pwd pwdDate disabled needPwdReset roles", "#role": "id name",
		"#permission": "id subject resource permission", "#seen": "id",
	} {
		c := &engine.Class{Name: name, Caption: name, Key: []string{"id"}}
		for i, p := range strings.Fields(properties) {
			types := map[string]engine.PropertyType{"pwdDate": engine.DateTime, "disabled": engine.Boolean, "needPwdReset": engine.Boolean, "roles": engine.Text}
			c.Properties = append(c.Properties, &engine.Property{Name: p, Caption: p, Type: types[p], OrderNumber: i, Nullable: i > 0, Indexed: p == "subject", Definition: name})
		}
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
		classes[name] = c
	}
	return classes
}

// TestDatabaseOfAnOlderVersion checks a database from a version that had no resources. Its
// accounts, roles and grants must work as before, and the server must not read its acl files again.
func TestDatabaseOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, a managed) {
		ctx := t.Context()
		fillOlder(t, a)
		a.want(
			"acl list", "SUBJECT  RESOURCE  PERMISSIONS\nadmin    *         full\nclerk    *         read\n",
			"acl role list", "ROLE   NAME\nadmin  Administrator\nclerk  clerk\n",
			"acl explain ann@local *", "ann@local on * (everything): read\n  the account has: role clerk\n  granted: read on * to role clerk\n"+
				"  missing: write,delete,use; to grant that: restsrv acl grant ann@local '*' write delete use\n",
		)
		d, err := command.OpenForAccess(ctx, a.config, a.db, command.Stdio{Env: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Store.Close()
		if _, err := d.Accounts.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ann@local", Password: "secret"}); err != nil {
			t.Error(err)
		}
		if admin, err := d.Accounts.EnsureAdmin(ctx, "x"); err != nil || admin.Created {
			t.Errorf("EnsureAdmin: got %+v, %v, want the existing account", admin, err)
		}
		roles, err := d.Policy.Import(ctx, acl.File{Roles: []acl.FileRole{{Role: acl.Role{ID: "clerk"}, Grants: []engine.Grant{{Subject: "clerk", Resource: "*", Permission: engine.MayAll}}}}})
		if err != nil || roles.Roles != 0 || roles.Known != 1 {
			t.Errorf("import of roles: got %+v, %v, want one known role", roles, err)
		}
		users, err := d.Accounts.Import(ctx, account.ACL{Accounts: []account.ACLAccount{{Account: account.Account{ID: "ann@local"}}, {Account: account.Account{ID: "gone@local"}}}})
		if err != nil || users.Accounts != 0 || users.Known != 2 {
			t.Errorf("import of accounts: got %+v, %v, want two known accounts", users, err)
		}
	})
}

// fillOlder writes the database like the older version.
func fillOlder(t *testing.T, a managed) {
	t.Helper()
	ctx := context.Background()
	c, _ := deploy.Load(a.config, server.KnownNames())
	db, _, err := appdata.Connect(ctx, c, a.db, appdata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	classes := olderClasses(t)
	var all []*engine.Class
	for _, c := range classes {
		all = append(all, c)
	}
	s, err := store.Open(ctx, db, store.Config{Classes: all})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hash, err := account.NewHasher(account.HasherConfig{}).Hash(ctx, "secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []map[string]any{
		{"": "#account", "id": "ann@local", "name": "ann", "pwd": hash, "disabled": false, "roles": "clerk"},
		{"": "#role", "id": "admin", "name": "Administrator"}, {"": "#role", "id": "clerk", "name": "clerk"},
		{"": "#permission", "id": "admin\t*\tfull", "subject": "admin", "resource": "*", "permission": "full"},
		{"": "#permission", "id": "clerk\t*\tread", "subject": "clerk", "resource": "*", "permission": "read"},
		{"": "#seen", "id": "role clerk"}, {"": "#seen", "id": "account ann@local"}, {"": "#seen", "id": "account gone@local"},
	} {
		c := classes[row[""].(string)]
		v := engine.NewValues(c)
		for name, value := range row {
			if name != "" {
				v[c.Property(name).Index] = value
			}
		}
		if _, err := s.Create(ctx, c, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
