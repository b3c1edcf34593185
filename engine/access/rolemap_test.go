package access

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"restsrv/engine"
)

func TestRoleMapFaults(t *testing.T) {
	w := newWorld().link()
	var faults engine.Faults
	ParseRoleMap(w, object(t, `{
		"memos@test": {},
		"memo@test": {
			"A": {"sids": "ann"},
			"B": {"sids": ["$owner", 5, ["$nobody", ["", {"x": 1}, "$"]]]},
			"C": {"attribute": "dept.chief"},
			"D": {"attribute": "owner", "conditions": {"eq": [{"next": ["x"]}, 1]}},
			"E": {"attribute": "owner", "conditions": "eq($state, 1)"},
			"F": {"caption": 7, "resource": "my::res"},
			"G": {"attribute": "owner", "condition": {}},
			"H": 1
		},
		"dept@test": []}`, &faults))
	want := `role-map-class deploy.json: options.memos@test: found class "memos@test", which does not exist, expected "memo@test"
role-map-sid deploy.json: options.memo@test.A.sids: found "ann", expected an array such as ["$owner", ["admin", "$department.head"]]
role-map-sid deploy.json: options.memo@test.B.sids[1]: found 5, expected a role, an account, $attribute, or an array of these
role-map-sid deploy.json: options.memo@test.B.sids[2][0]: found "nobody" (class memo@test has no attribute "nobody"), expected an attribute that names accounts or roles
role-map-sid deploy.json: options.memo@test.B.sids[2][1][0]: found "", expected a role, an account, or $attribute
role-map-sid deploy.json: options.memo@test.B.sids[2][1][1]: found an object, expected a role, an account, $attribute, or an array of these
role-map-sid deploy.json: options.memo@test.B.sids[2][1][2]: found "$", expected a role, an account, or $attribute
role-map-sid deploy.json: options.memo@test.C.attribute: found "dept.chief" (class dept@test has no attribute "chief"), expected an attribute that names accounts or roles
role-map-role deploy.json: options.memo@test.D.conditions: found an object (unknown function "next"), expected a condition that can be evaluated
role-map-role deploy.json: options.memo@test.E.conditions: found "eq($state, 1)" (a filter is an object such as {"eq":["$name","x"]} or {"name":{"$eq":"x"}}, found "eq($state, 1)"), expected a condition that can be evaluated
not-text deploy.json: options.memo@test.F.caption: found 7, expected text
role-map-role deploy.json: options.memo@test.F.resource: found "my::res", expected an object such as {"id": "n:::reports", "caption": "Reports"}
deploy.json: options.memo@test.F: found neither sids nor attribute, expected who has the role: nobody does
deploy.json: options.memo@test.G.condition: found unknown name "condition", expected "conditions"
not-object deploy.json: options.memo@test.H: found 1, expected an object
not-object deploy.json: options.dept@test: found an array, expected an object`
	if got := describeFaults(t, faults); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestRoleMapConditions checks the condition for each form of a role, for ann,
// who is also a boss.
func TestRoleMapConditions(t *testing.T) {
	for _, x := range []struct{ role, want string }{
		{`{"attribute": "owner"}`, "owner in [ann boss]"},
		{`{"sids": ["$dept.head"], "attribute": "owner"}`, "or(head in [ann boss], owner in [ann boss])"},
		{`{"sids": ["boss"]}`, "always"},
		{`{"sids": ["clerk"]}`, "never"},
		{`{"sids": ["clerk", "$owner"]}`, "owner in [ann boss]"},
		{`{"sids": [["boss", "$owner"]]}`, "owner in [ann boss]"},
		{`{"sids": [["clerk", "$owner"]]}`, "never"},
		{`{"sids": [["$owner", "$title"]]}`, "and(owner in [ann boss], title in [ann boss])"},
		{`{"sids": [["$owner", ["$title", "clerk"]]]}`, "and(owner in [ann boss], title in [ann boss])"},
		{`{"sids": [[]]}`, "never"},
		{`{"sids": []}`, "never"},
		{`{}`, "never"},
		{`{"sids": ["$state"]}`, "never"}, // no subject is a number
		{`{"sids": ["$dept"]}`, "never"},  // and no subject is the id of a department
		{`{"sids": ["$_id"]}`, "id in [ann boss]"},
		{`{"sids": ["$readers.who"]}`, "who in [ann boss]"},
		{`{"sids": ["$readers"]}`, "contains(id in [ann boss])"},
		{`{"attribute": "owner", "conditions": {"eq": ["$state", 1]}}`, "and(owner in [ann boss], state eq 1)"},
		{`{"sids": ["boss"], "conditions": [{"property": "state", "operation": 0, "value": [1]}]}`, "state eq 1"},
		{`{"sids": ["boss"], "conditions": {}}`, "always"},
		{`{"sids": ["clerk"], "conditions": {"eq": ["$state", 1]}}`, "never"},
		{`{"sids": ["$nobody", "boss"]}`, "always"},
		{`{"sids": [["$nobody", "boss"]]}`, "never"},
		{`{"sids": [["boss", [7, "$owner"]]]}`, "owner in [ann boss]"},
		{`{"sids": [["boss", [{}]]]}`, "never"},
		{`{"sids": "boss"}`, "never"},
		{`{"sids": "boss", "attribute": "owner"}`, "owner in [ann boss]"},
		{`{"attribute": "nobody"}`, "never"},
		{`{"sids": ["boss"], "conditions": {"eq": ["$nobody", 1]}}`, "never"},
		{`{"sids": ["boss"], "conditions": 5}`, "never"},
		{`{"sids": ["boss"], "resource": "my::res"}`, "never"},
		{`{"sids": ["boss"], "resource": {"id": 5}}`, "never"},
		{`"boss"`, "never"},
	} {
		w := newWorld().link().roleMap(t, `{"memo@test": {"R": {"sids": ["$owner"]}}}`)
		var faults engine.Faults
		w.roles = ParseRoleMap(w, object(t, `{"memo@test": {"R": `+x.role+`}}`, &faults))
		if errors, _ := faults.Split(false); len(errors) > 0 {
			t.Errorf("%s: %v", x.role, errors)
			continue
		}
		got := describeRows(w.roles.rolesOf(w.memo)[0].holderFilter([]string{"ann", "boss"}))
		if got != x.want {
			t.Errorf("%s is %s, expected %s", x.role, got, x.want)
		}
	}
}

// TestRoleMapIsInherited checks that classes inherit roles, that the role of the nearest class
// counts if several have one name, and that the permissions are those on the class of the item.
func TestRoleMapIsInherited(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"doc@test": {"A": {"attribute": "owner"}, "B": {"attribute": "owner", "resource": {"id": "my::res", "caption": "Mine"}}},
		"letter@test": {"A": {"attribute": "to"}}}`)
	w.grant("A", "c:::memo@test", "read", "B", "my::res", "delete", "A", "c:::doc@test", "full")
	g := newGate(w.config())
	p := g.cachedProfile(w.grants, account("ann"))
	for _, x := range []struct {
		may   engine.Permission
		class *engine.Class
		want  string
	}{
		{engine.MayRead, w.memo, "owner in [ann]"},
		{engine.MayRead, w.stamped, "never"}, // A has no permission on stamped letters
		{engine.MayDelete, w.stamped, "owner in [ann]"},
		{engine.MayWrite, w.memo, "never"},
	} {
		if got := describeRows(p.Rows(x.may, x.class)); got != x.want {
			t.Errorf("%s on %s: %s, expected %s", x.may, x.class.Name, got, x.want)
		}
	}
	if got := w.roles.rolesOf(w.stamped); len(got) != 2 || got[0].who.terms[0].text != "to" || got[1].name != "B" {
		t.Errorf("stamped letters have %v", got)
	}
	var none *RoleMap
	if none.rolesOf(w.memo) != nil {
		t.Error("roles of nothing")
	}
}

// TestRoleMapOfManySubjects checks that the condition works for an account with more subjects
// than one list of a filter can hold.
func TestRoleMapOfManySubjects(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"doc@test": {"A": {"attribute": "owner"}}}`)
	var subjects []string
	for i := range 1200 {
		subjects = append(subjects, fmt.Sprint("s", i))
	}
	f := w.roles.rolesOf(w.memo)[0].holderFilter(subjects)
	for _, s := range []string{"s0", "s999", "s1199"} {
		if !passes(f, newItem(w.memo, "1", "owner", s)) {
			t.Errorf("%s is none of them", s)
		}
	}
	if passes(f, newItem(w.memo, "1", "owner", "s1200")) || len(f.Args) != 3 {
		t.Error("one is too much")
	}
}

func TestCheck(t *testing.T) {
	w := newWorld().link().grant(engine.Everyone, "ws:::gen-ws-token", "use", "ann", "my::res", "read", "boss", "my::res", "delete", "admin", "*", "full")
	c := NewChecker(w.config())
	limited := account("x", "admin")
	limited.Scope, limited.Limit = must(engine.ParseScope("token:read")), engine.MayRead
	for _, x := range []struct {
		account  *engine.Account
		resource string
		may      engine.Permission
		want     bool
	}{
		{account("ann"), engine.TokenResource, engine.MayUse, true}, // everyone may
		{engine.Anonymous, engine.TokenResource, engine.MayUse, true},
		{account("ann"), engine.TokenResource, engine.MayRead, false},
		{account("ann"), "my::res", engine.MayRead, true},
		{account("ann"), "my::res", engine.MayRead | engine.MayDelete, false},
		{account("ann", "boss"), "my::res", engine.MayRead | engine.MayDelete, true},
		{account("x", "admin"), "anything", engine.MayAll, true},
		{limited, "anything", engine.MayRead, true},
		{limited, "anything", engine.MayUse, false},
		{limited, engine.TokenResource, engine.MayUse, false},
		{nil, engine.TokenResource, engine.MayUse, false},
	} {
		if got, err := c.Check(t.Context(), x.account, x.resource, x.may); got != x.want || err != nil {
			t.Errorf("%v, %s on %s: %v, %v", x.account, x.may, x.resource, got, err)
		}
	}
	open := NewChecker(Config{Meta: w, Unrestricted: true})
	if ok, err := open.Check(context.Background(), account("ann"), "anything", engine.MayAll); !ok || err != nil {
		t.Error("restricted")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestExplain(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"memo@test": {"OWNER": {"attribute": "owner"}, "HEAD": {"sids": [["$dept.head", "boss"]], "conditions": {"eq": ["$state", 1]}},
		"CLERK": {"sids": ["clerk"]}, "ANY": {"sids": ["ann"], "resource": {"id": "my::res"}}}}`)
	w.stages = firstStage{}
	w.grant("ann", "c:::memo@test", "read", "boss", "i:::memo@test@m1", "write", "OWNER", "c:::memo@test", "write", "ANY", "my::res", "use", "found", "*", "use",
		engine.Everyone, "c:::memo@test", "delete", "x", "a:::doc@test.pay", "read", "boss", "a:::memo@test.pay", "write", engine.Everyone, "my::res", "read")
	c := NewChecker(w.config())
	a := account("ann", "boss")
	a.Coactors = []string{"found"}
	for _, x := range []struct {
		resource string
		want     []string
	}{
		{"c:::memo@test", []string{
			`ann on c:::memo@test (class memo@test): read,use`,
			`  the account has: role boss, coactor found`,
			`  granted: read on c:::memo@test to account ann`,
			`  granted: delete on c:::memo@test to everyone, which does not count for data`,
			`  granted: use on * to coactor found`,
			`  given by objects: write on c:::memo@test to OWNER, when $owner names the account`,
			`  given by objects: nothing on c:::memo@test to HEAD, when ($dept.head names the account and the account is boss) and the conditions of the role map hold`,
			`  given by objects: nothing on c:::memo@test to CLERK, when the account is clerk (never this account)`,
			`  given by objects: use on my::res to ANY, when the account is ann`,
			`  missing: write, but for some objects; to grant that: restsrv acl grant ann c:::memo@test write`,
			`  missing: delete; to grant that: restsrv acl grant ann c:::memo@test delete`}},
		{"i:::memo@test@m1", []string{`ann on i:::memo@test@m1 (object "m1" of class memo@test): read,write,use`, `  granted: write on i:::memo@test@m1 to role boss`}},
		{"c:::letter@test", []string{`ann on c:::letter@test (class letter@test): use`, `  given by objects: delete on c:::letter@test to stage of the workflow, when the stage of the object gives it`,
			`  missing: delete, but for some objects; to grant that: restsrv acl grant ann c:::letter@test delete`, `  note: it counts for objects of exactly this class; those of its descendants need grants of their own`}},
		{"c:::none@test", []string{`ann on c:::none@test (no class has that name): use`}},
		{"i:::none", []string{`ann on i:::none (no object: no class has that name): use`}},
		{"a:::letter@test.pay", []string{`ann on a:::letter@test.pay (attribute "pay" of class doc@test): write,use`,
			`  note: it is protected by a:::doc@test.pay, a:::memo@test.pay: it is hidden from accounts without a grant`,
			`  note: class doc@test declares it: it is protected there and in all classes that inherit it`,
			`  granted: write on a:::memo@test.pay to role boss`,
			`  missing: read; to grant that: restsrv acl grant ann a:::letter@test.pay read`}},
		{"a:::doc@test.title", []string{`ann on a:::doc@test.title (attribute "title" of class doc@test): full`,
			`  note: it is not protected: an account that may read or write an object may also read or write this attribute. It becomes protected when its resource is declared or granted`}},
		{"a:::doc@test.id", []string{`  note: it is of a key, which cannot be protected: the id shows it`}},
		{"a:::doc@test.x", []string{`ann on a:::doc@test.x (no attribute has that name): use`}},
		{"my::res", []string{`ann on my::res (a resource): read,use`, `  granted: read on my::res to everyone`}},
		{"your::res", []string{`  note: nothing declares or grants this resource`}},
		{"*", []string{`ann on * (everything): use`, `  missing: read,write,delete; to grant that: restsrv acl grant ann '*' read write delete`}},
	} {
		e, err := c.Explain(t.Context(), a, x.resource)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range x.want {
			if !slices.Contains(e.Lines(), line) {
				t.Errorf("%s: no line\n%s\nin\n%s", x.resource, line, e)
			}
		}
		if x.resource == "c:::memo@test" && len(e.Lines()) != len(x.want) {
			t.Errorf("got\n%s", e)
		}
	}
	a.Scope, a.Limit = must(engine.ParseScope("crud:read")), engine.MayRead
	e, err := c.Explain(t.Context(), a, "c:::memo@test")
	if err != nil || e.May != engine.MayRead || !slices.Contains(e.Lines(), "  missing: write,delete,use") || !slices.Contains(e.Lines(), "  note: the scope of the token leaves read") {
		t.Errorf("got\n%s, %v", e, err)
	}
}

// TestExplainAgrees compares explanations with the decisions of the gate.
func TestExplainAgrees(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"doc@test": {"OWNER": {"attribute": "owner"}}}`).
		grant("ann", "c:::memo@test", "read", "OWNER", "c:::letter@test", "read", engine.Everyone, "c:::stamped@test", "full", "ann", "a:::doc@test.pay", "write")
	g := newGate(w.config())
	c := NewChecker(w.config())
	a := account("ann")
	p := g.cachedProfile(w.grants, a)
	for _, class := range []*engine.Class{w.memo, w.letter, w.stamped} {
		e := must(c.Explain(t.Context(), a, engine.ClassResource+class.FullName))
		for _, may := range permissions {
			if f := p.exactCondition(may, class, nil); e.May.Has(may) != (f == nil) {
				t.Errorf("%s: %s is %s, and the gate says %s", class.Name, may, e.May, describeRows(f))
			}
		}
	}
	e := must(c.Explain(t.Context(), a, "a:::memo@test.pay"))
	if pay := w.memo.Property("pay"); e.May.Has(engine.MayRead) == p.Hides(engine.MayRead, pay) || e.May.Has(engine.MayWrite) == p.Hides(engine.MayWrite, pay) {
		t.Errorf("the gate does not agree with %s", e)
	}
}
