package acl_test

import (
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/acl"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
)

func read(t *testing.T, texts ...string) (acl.File, string) {
	t.Helper()
	var faults engine.Faults
	var file acl.File
	for _, text := range texts {
		v, err := wire.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		file.Read(jsonfile.Object{File: "acl/a.yml", Fields: v.(engine.Fields), Faults: &faults})
	}
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return file, strings.Join(lines, "\n")
}

// TestRead checks the forms of roles and resources in acl files. A bad entry does not affect the
// others, and a file that defines a single user has no roles or resources.
func TestRead(t *testing.T) {
	file, faults := read(t, `{"resources": [{"id": "*"}, {"id": "c:::note@sample", "name": " Notes\n"}, 3, {"id": "n:::x"}],
		"roles": [{"id": "clerk", "permissions": {"c:::note@sample": ["read", "write"], "*": ["use"], "c:::none@sample": []}},
			{"id": 7, "name": "Seven"}, {"id": "bad", "permissions": {"*": ["fly"]}}, 7],
		"users": [{"id": "ann"}]}`, `{"id": "bob", "roles": ["clerk"]}`)
	if len(file.Roles) != 2 || file.Roles[0].ID != "clerk" || file.Roles[0].Name != "clerk" || file.Roles[0].Where != "acl/a.yml: roles[0]" ||
		file.Roles[1].Role != (acl.Role{ID: "7", Name: "Seven"}) {
		t.Fatalf("roles %+v", file.Roles)
	}
	if g := file.Roles[0].Grants; len(g) != 2 || g[0] != (engine.Grant{Subject: "clerk", Resource: "c:::note@sample", Permission: engine.MayRead | engine.MayWrite}) {
		t.Errorf("grants %+v", g)
	}
	if r := file.Resources; len(r) != 3 || r[1].Resource != (acl.Resource{ID: "c:::note@sample", Name: "Notes"}) || r[2].Name != "x" {
		t.Errorf("resources %+v", r)
	}
	want := `acl/a.yml: roles[2].permissions["*"][0]: found "fly", expected one of read, write, delete, use, full
acl/a.yml: roles[3]: found 7, expected an object
acl/a.yml: resources[2]: found 3, expected an object`
	if faults != want {
		t.Errorf("faults\n%s\nwant\n%s", faults, want)
	}
}

// TestImport checks that roles and resources are imported once, and that a later import does not
// undo changes and removals.
func TestImport(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p, ctx := place.process(), t.Context()
		file, faults := read(t, `{"roles": [{"id": "clerk", "permissions": {"*": ["read"], "c:::note@sample": ["full"]}}, {"id": "guest"}, {"id": "*"},
			{"id": "lost", "permissions": {"c:::": ["read"]}}],
			"resources": [{"id": "*", "name": "Everything"}, {"id": "a:::person@sample.phone"}, {"id": "c:::"}, {}]}`)
		done, err := p.Import(ctx, file)
		if err != nil || done.Roles != 2 || done.Resources != 2 || done.Known != 0 || len(done.Refused) != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		for _, path := range []string{"roles[2].id", "roles[3].permissions.c:::", "resources[2].id", "resources[3].id"} {
			if !strings.Contains(faults, "acl/a.yml: "+path+": ") {
				t.Errorf("the faults do not have %s:\n%s", path, faults)
			}
		}
		all, err := p.Resources(ctx)
		if err != nil || len(all) != 3 || all[0] != (acl.Resource{ID: "*", Name: "Everything"}) || !p.grants().Known(phone) {
			t.Errorf("resources %+v, %v", all, err)
		}
		p.deny("clerk", "*", engine.MayAll)
		wantOK(t, "remove", p.RemoveRole(ctx, "guest"))
		wantOK(t, "undeclare", p.RemoveResource(ctx, phone))
		done, err = p.Import(ctx, file)
		if err != nil || done.Roles != 0 || done.Resources != 0 || done.Known != 2 {
			t.Errorf("again: %+v, %v", done, err)
		}
		if got := p.listed(acl.Filter{}); got != "clerk c:::note@sample full\n" || p.grants().Known(phone) {
			t.Errorf("granted %s", got)
		}
		if roles, err := p.Roles(ctx); err != nil || len(roles) != 1 {
			t.Errorf("roles %+v, %v", roles, err)
		}
		p.data.set(nil, engine.Errorf(engine.Unavailable, "database", "away"))
		_, err = p.Import(ctx, file)
		wantCode(t, "away", err, engine.Unavailable)
	})
}
