package account_test

import (
	"context"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
)

func readACL(t *testing.T, text string) (account.ACL, engine.Faults) {
	t.Helper()
	v, err := wire.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var faults engine.Faults
	var acl account.ACL
	acl.ReadACL(jsonfile.Object{File: "acl/a.yml", Fields: v.(engine.Fields), Faults: &faults})
	return acl, faults
}

// TestReadACL holds what acl files may look like, and that one bad entry
// keeps no other from being read.
func TestReadACL(t *testing.T) {
	acl, faults := readACL(t, `{"resources": [{"id": "*"}],
		"roles": [{"id": "clerk", "permissions": {"c:::note@sample": ["read", "write"], "*": ["use"]}}, {"id": "bad", "permissions": {"*": ["fly"]}}, 7],
		"users": [{"id": "ann", "pwd": {"hash": "`+ancestor+`"}, "needPwdReset": false, "roles": ["clerk"]}, {"id": 42, "type": "system", "pwd": "secret"}, {"id": "bob@oauth"}, {"id": "eve", "roles": [1]}]}`)
	if len(acl.Roles) != 1 || acl.Roles[0].ID != "clerk" || acl.Roles[0].Name != "clerk" || len(acl.Roles[0].Permissions) != 3 ||
		acl.Roles[0].Permissions[1] != (account.Permission{Resource: "c:::note@sample", Permission: "write"}) {
		t.Errorf("roles %+v", acl.Roles)
	}
	if len(acl.Accounts) != 3 {
		t.Fatalf("accounts %+v", acl.Accounts)
	}
	ann, machine, bob := acl.Accounts[0], acl.Accounts[1], acl.Accounts[2]
	if ann.ID != "ann@local" || ann.Hash != ancestor || ann.NeedPwdReset || ann.Roles[0] != "clerk" || ann.Where != "acl/a.yml: users[0]" {
		t.Errorf("ann %+v", ann)
	}
	if machine.ID != "42@system" || machine.Password != "secret" || !machine.NeedPwdReset || bob.ID != "bob@oauth" {
		t.Errorf("%+v, %+v", machine, bob)
	}
	var text []string
	for _, f := range faults {
		text = append(text, f.String())
	}
	want := `acl/a.yml: roles[1].permissions["*"][0]: found "fly": expected one of read, write, delete, use, full
acl/a.yml: roles[2]: found 7: expected an object
acl/a.yml: users[3].roles[0]: found 1: expected the id of a role`
	if got := strings.Join(text, "\n"); got != want {
		t.Errorf("faults\n%s\nwant\n%s", got, want)
	}
	bare, faults := readACL(t, `{"id": "user", "name": "user", "pwd": {"hash": "x"}, "type": "local", "roles": []}`)
	if len(bare.Accounts) != 1 || bare.Accounts[0].ID != "user@local" || len(faults) > 0 {
		t.Errorf("one bare user: %+v, %v", bare, faults)
	}
}

// TestImport holds that accounts and roles are taken once, sign in with the
// passwords they had, and that what was changed or deleted since stays so.
func TestImport(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	acl, _ := readACL(t, `{"roles": [{"id": "clerk", "permissions": {"*": ["read"]}}, {"id": " x "}],
		"users": [{"id": "ann", "pwd": {"hash": "`+ancestor+`"}, "roles": ["clerk"]}, {"id": "bob", "pwd": "secret"}, {"id": "c:d"}, {"id": "eve", "pwd": {"hash": "md5"}}]}`)
	done, err := f.Import(ctx, acl)
	if err != nil || done.Accounts != 2 || done.Roles != 1 || done.Known != 0 || len(done.Refused) != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	for i, want := range []string{"roles[1]", "users[2]", "users[3]"} {
		if r := done.Refused[i]; r.Where != "acl/a.yml: "+want || engine.CodeOf(r.Err) != engine.Invalid {
			t.Errorf("refused %+v", r)
		}
	}
	for id, password := range map[string]string{"ann@local": ancestorPassword, "bob@local": "secret"} {
		wantOK(t, id, signIn(f.Store, id, password))
	}
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	done, err = f.Import(ctx, acl)
	if err != nil || done.Accounts != 0 || done.Roles != 0 || done.Known != 3 {
		t.Errorf("again: %+v, %v", done, err)
	}
	if a, err := f.Get(ctx, "ann@local"); err != nil || !a.Disabled {
		t.Errorf("the account that was disabled: %+v, %v", a, err)
	}
}
