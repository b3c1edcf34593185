package account_test

import (
	"context"
	"encoding/json"
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

// TestReadACL checks the forms of accounts in acl files, and that a bad entry does not affect the
// other entries. This package does not read the roles in the files.
func TestReadACL(t *testing.T) {
	acl, faults := readACL(t, `{"resources": [{"id": "*"}], "roles": [{"id": "clerk", "permissions": {"*": ["use"]}}],
		"users": [{"id": "ann", "pwd": {"hash": "`+ancestor+`"}, "needPwdReset": false, "roles": ["clerk"]}, {"id": 42, "type": "system", "pwd": "secret",
			"properties": {"oauth": {"grants": ["authorization_code"]}, "floor": 3}}, {"id": "bob@oauth"}, {"id": "eve", "roles": [1]}, 7, {"id": "fay", "properties": "x"}]}`)
	if len(acl.Accounts) != 3 {
		t.Fatalf("accounts %+v", acl.Accounts)
	}
	ann, machine, bob := acl.Accounts[0], acl.Accounts[1], acl.Accounts[2]
	if ann.ID != "ann@local" || ann.Hash != ancestor || ann.NeedPwdReset || ann.Roles[0] != "clerk" || ann.Where != "acl/a.yml: users[0]" {
		t.Errorf("ann %+v", ann)
	}
	if machine.ID != "42@system" || machine.Password != "secret" || !machine.NeedPwdReset || len(machine.Properties) != 2 || bob.ID != "bob@oauth" {
		t.Errorf("%+v, %+v", machine, bob)
	}
	var text []string
	for _, f := range faults {
		text = append(text, f.String())
	}
	want := `acl/a.yml: users[3].roles[0]: found 1, expected the id of a role
acl/a.yml: users[4]: found 7, expected an object
acl/a.yml: users[5].properties: found "x", expected an object`
	if got := strings.Join(text, "\n"); got != want {
		t.Errorf("faults\n%s\nwant\n%s", got, want)
	}
	bare, faults := readACL(t, `{"id": "user", "name": "user", "pwd": {"hash": "`+ancestor+`"}, "type": "local", "roles": []}`)
	if len(bare.Accounts) != 1 || bare.Accounts[0].ID != "user@local" || len(faults) > 0 {
		t.Errorf("one bare user: %+v, %v", bare, faults)
	}
}

// TestImport checks that accounts are imported once with their properties and
// passwords, and that later changes stay.
func TestImport(t *testing.T) {
	f, ctx := newFixture(t), context.Background()
	acl, faults := readACL(t, `{"users": [{"id": "ann", "pwd": {"hash": "`+ancestor+`"}, "roles": ["clerk"]}, {"id": "bob", "pwd": "secret", "properties": {"floor": 3}},
		{"id": "c:d"}, {"id": "eve", "pwd": {"hash": "md5"}}, {"id": "all", "roles": ["*"]}]}`)
	done, err := f.Import(ctx, acl)
	if err != nil || done.Accounts != 2 || done.Known != 0 || len(done.Refused) != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	for i, path := range []string{"users[2].id", "users[3].pwd.hash", "users[4].roles[0]"} {
		if len(faults) != 3 || faults[i].Path != path {
			t.Errorf("got faults %v, want one at %s", faults, path)
		}
	}
	if got := strings.Join(done.Weak, ", "); got != "acl/a.yml: users[1]" {
		t.Errorf("accounts with short passwords: got %q, want those of users[1]", got)
	}
	for id, password := range map[string]string{"ann@local": ancestorPassword, "bob@local": "secret"} {
		wantOK(t, id, signIn(f.Store, id, password))
	}
	bob, err := f.Get(ctx, "bob@local")
	if floor, _ := bob.Properties.Get("floor"); err != nil || floor != json.Number("3") {
		t.Errorf("properties %+v, %v", bob.Properties, err)
	}
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	done, err = f.Import(ctx, acl)
	if err != nil || done.Accounts != 0 || done.Known != 2 {
		t.Errorf("again: %+v, %v", done, err)
	}
	if a, err := f.Get(ctx, "ann@local"); err != nil || !a.Disabled {
		t.Errorf("the account that was disabled: %+v, %v", a, err)
	}
	// A removed account is not imported again, even if it was created by Add.
	wantOK(t, "add", f.Add(ctx, account.Account{ID: "dan@local"}, "secret"))
	acl, _ = readACL(t, `{"users": [{"id": "bob", "pwd": "secret"}, {"id": "dan", "pwd": "secret"}]}`)
	for _, id := range []string{"bob@local", "dan@local"} {
		wantOK(t, "remove", f.Remove(ctx, id))
	}
	done, err = f.Import(ctx, acl)
	if err != nil || done.Accounts != 0 || done.Known != 2 {
		t.Errorf("after they were removed: %+v, %v", done, err)
	}
	wantOK(t, "add again", f.Add(ctx, account.Account{ID: "dan@local"}, "secret"))
}
