package access

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
)

// staffing is a database of employees in departments. Departments have superior departments and
// projects.
type staffing struct {
	engine.Repository
	department, employee, chief, project, note *engine.Class
	lists                                      int
}

func (s *staffing) Classes() []*engine.Class {
	return []*engine.Class{s.chief, s.department, s.employee, s.note, s.project}
}

func (s *staffing) Class(name string) (*engine.Class, error) {
	for _, c := range s.Classes() {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

// List counts its calls, and fails if the context has a guard.
func (s *staffing) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if engine.GuardFrom(ctx) != nil {
		return errors.New("this reading is the server's own")
	}
	s.lists++
	return s.Repository.List(ctx, q, visit)
}

func openStaffing(t *testing.T) *staffing {
	s := &staffing{}
	s.department = storetest.NewClass("department", storetest.Prop("id", engine.Int), text("code"))
	s.project = storetest.NewClass("project", text("id"), text("role"), storetest.Prop("open", engine.Boolean), storetest.Prop("tags", engine.Set))
	s.employee = storetest.NewClass("employee", text("id"), text("uid"), text("city"), storetest.Prop("age", engine.Int), storetest.Prop("born", engine.DateTime),
		storetest.Ref("department", s.department), storetest.Prop("secret", engine.Password))
	members := storetest.Prop("members", engine.Collection)
	members.Target = s.employee
	extend(s.department, storetest.Ref("superior", s.department), members, storetest.Prop("projects", engine.Collection, func(p *engine.Property) { p.Target = s.project }))
	s.department.Property("members").Back = s.employee.Property("department")
	s.chief = storetest.Extend(s.employee, "chief", text("medal"))
	s.note = storetest.NewClass("note", text("id"), storetest.Ref("about", s.employee))
	storetest.Link(s.Classes()...)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, store.Config{Classes: s.Classes(), HashPassword: storetest.HashPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Repository = st
	s.put(t, s.department, "id", 1, "code", "top", "superior", 3) // a circle
	s.put(t, s.department, "id", 2, "code", "mid", "superior", 1)
	s.put(t, s.department, "id", 3, "code", "low", "superior", 2)
	s.put(t, s.department, "id", 4, "code", engine.Everyone)
	s.put(t, s.project, "id", "p1", "role", "builder", "open", true)
	s.put(t, s.project, "id", "p2", "role", "closer", "open", false)
	v := engine.NewValues(s.department)
	v[s.department.Property("projects").Index] = &engine.Links{Add: []any{"p1", "p2"}}
	if _, err := st.Update(t.Context(), s.department, "1", v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.put(t, s.employee, "id", "e1", "uid", "ann@local", "department", 3, "city", "Oslo", "age", 30, "born", "2000-01-02T00:00:00.000Z")
	s.put(t, s.chief, "id", "e2", "uid", "bob@local", "department", 1, "city", "Rome", "medal", "gold")
	s.put(t, s.employee, "id", "e3", "uid", "cid@local", "department", 4)
	s.put(t, s.employee, "id", "e4", "uid", "dan@local")
	return s
}

func (s *staffing) put(t *testing.T, c *engine.Class, pairs ...any) {
	t.Helper()
	v := engine.NewValues(c)
	for i := 0; i < len(pairs); i += 2 {
		p := c.Property(pairs[i].(string))
		given := pairs[i+1]
		if n, ok := given.(int); ok {
			given = int64(n)
		}
		v[p.Index] = must(p.Cast(given))
	}
	if _, err := s.Create(t.Context(), c, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// coactors returns the coactors that the options in source find for an account, in order.
func (s *staffing) coactors(t *testing.T, source, account string, roles func(context.Context, []string) ([]string, error)) string {
	t.Helper()
	var faults engine.Faults
	f := NewCoactorFinder(CoactorConfig{Data: s, Meta: s, RolesOf: roles}, object(t, source, &faults))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	found, err := f.Coactors(engine.WithGuard(t.Context(), &profile{}), account)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

const superiors = `{"dataRepo": "lazy://dataRepo", "acl": "lazy://actualAclProvider", "accessManager": "lazy://roleAccessManager", "map": {
	"employee@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["department"]},
	"department@test": {"sidAttribute": "code", "jumps": ["superior"], "createRole": true}}}`

func TestCoactors(t *testing.T) {
	s := openStaffing(t)
	for _, x := range []struct{ source, account, want string }{
		{superiors, "ann@local", "low mid top"},
		{superiors, "bob@local", "low mid top"}, // an item of a descendant
		{superiors, "cid@local", ""},            // data cannot make an account everyone
		{superiors, "dan@local", ""},
		{superiors, "eve@local", ""},
		{`{}`, "ann@local", ""},
		{`{"map": {"employee@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["department"]}}}`, "ann@local", ""}, // department is not a class of the map
		{`{"map": {"employee@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["department"]},
			"department@test": {"jumps": {"superior": {"eq": ["$code", "mid"]}, "projects": {"eq": ["$open", true]}}, "sidAttribute": "code"},
			"project@test": {"sidAttribute": "role"}}}`, "bob@local", "builder top"},
		{`{"map": {"employee@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["department"]},
			"department@test": {"jumps": ["superior", "projects", "members"]}, "project@test": {"sidAttribute": "role"}}}`, "ann@local", "bob@local builder closer"},
		{`{"map": {"employee@test": {"isEntry": true, "sidAttribute": "uid", "jumps": ["department"]}, "chief@test": {"sidAttribute": "medal"},
			"department@test": {"jumps": ["members"]}}}`, "bob@local", "gold"},
		{`{"map": {"department@test": {"isEntry": true, "sidAttribute": "id", "jumps": ["superior"]}}}`, "ann@local", ""}, // "ann@local" is not a number
	} {
		if got := s.coactors(t, x.source, x.account, nil); got != x.want {
			t.Errorf("%s of %s is %q, expected %q", x.account, x.source, got, x.want)
		}
	}
	roles := func(_ context.Context, subjects []string) (all []string, err error) {
		for _, sid := range subjects {
			all = append(all, "role of "+sid, engine.Everyone)
		}
		return all, nil
	}
	if got, want := s.coactors(t, superiors, "ann@local", roles), "low mid role of low role of mid role of top top"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
	failing := func(context.Context, []string) ([]string, error) { return nil, errors.New("away") }
	var faults engine.Faults
	f := NewCoactorFinder(CoactorConfig{Data: s, Meta: s, RolesOf: failing}, object(t, superiors, &faults))
	if _, err := f.Coactors(t.Context(), "ann@local"); err == nil {
		t.Error("roles that nobody could tell")
	}
	var none *CoactorFinder
	if found, err := none.Coactors(t.Context(), "ann@local"); found != nil || err != nil {
		t.Error("a finder that there is not")
	}
}

// TestCoactorsReadLittle checks that the number of lists depends on the number of jumps and not
// on the number of items, and that the number of jumps is limited.
func TestCoactorsReadLittle(t *testing.T) {
	s := openStaffing(t)
	source := strings.Replace(superiors, `["superior"]`, `["superior", "members"]`, 1)
	more := func(from, to int) {
		for i := from; i < to; i++ {
			s.put(t, s.employee, "id", fmt.Sprint("x", i), "uid", fmt.Sprint("x", i, "@local"), "department", 1+i%3)
		}
	}
	more(0, 3) // an account in each department
	s.coactors(t, source, "ann@local", nil)
	before := s.lists
	more(3, 50)
	s.lists = 0
	if got := s.coactors(t, source, "ann@local", nil); len(strings.Fields(got)) != 54 || s.lists != before {
		t.Errorf("%d readings instead of %d for %s", s.lists, before, got)
	}
	for i := range 40 {
		s.put(t, s.department, "id", 100+i, "code", fmt.Sprint("d", i), "superior", 101+i)
	}
	s.put(t, s.employee, "id", "far", "uid", "far@local", "department", 100)
	s.lists = 0
	if got := s.coactors(t, superiors, "far@local", nil); len(strings.Fields(got)) != maxJumps+1 || s.lists != maxJumps+1 {
		t.Errorf("%d readings for %s", s.lists, got)
	}
}

func TestCoactorFaults(t *testing.T) {
	s := openStaffing(t)
	var faults engine.Faults
	NewCoactorFinder(CoactorConfig{Data: s, Meta: s}, object(t, `{"maps": {}, "map": {"employe@test": {}, "employee@test": {"isEntry": true, "jumps": ["uid", 5]},
		"department@test": {"sidAttribute": "secret", "jumps": {"superior": {"eq": ["$x", 1]}}}, "project@test": {"sidAttribute": "leader", "jumps": "x"}, "note@test": 1}}`, &faults))
	want := `deploy.json: options.maps: found unknown name "maps", expected "map"
meta-map-class deploy.json: options.map.employe@test: found class "employe@test", which does not exist, expected "employee@test"
meta-map-sid deploy.json: options.map.employee@test.isEntry: found no sidAttribute, expected the attribute by which an entry names an account
meta-map-jump deploy.json: options.map.employee@test.jumps[0]: found "uid", expected a reference or a collection of class employee@test
meta-map-jump deploy.json: options.map.employee@test.jumps[1]: found "", expected a reference or a collection of class employee@test
meta-map-sid deploy.json: options.map.department@test.sidAttribute: found "secret", expected an attribute of class department@test that names an account or a role
meta-map-jump deploy.json: options.map.department@test.jumps.superior: found an object (class department@test has no attribute "x"), expected a condition on class department@test that can be evaluated
meta-map-sid deploy.json: options.map.project@test.sidAttribute: found "leader", expected an attribute of class project@test that names an account or a role
not-array deploy.json: options.map.project@test.jumps: found "x", expected an array of references and collections
not-object deploy.json: options.map.note@test: found 1, expected an object`
	if got := describeFaults(t, faults); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// profileOf returns the properties that the options find for an account, as JSON.
func (s *staffing) profileOf(t *testing.T, source, account string) string {
	t.Helper()
	var faults engine.Faults
	f := NewProfiles(ProfilesConfig{Data: s, Meta: s}, object(t, source, &faults))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	fields, err := f.Load(engine.WithGuard(t.Context(), &profile{}), account)
	if err != nil {
		t.Fatal(err)
	}
	return string(engine.AppendValue(nil, fields))
}

func TestProfiles(t *testing.T) {
	s := openStaffing(t)
	for _, x := range []struct{ source, account, want string }{
		{`{"metaRepo": "ion://metaRepo", "propertyMap": {"employee@test": {"filter": "uid", "properties": {"employee": "id", "town": "city", "age": "age", "born": "born"}}}}`,
			"ann@local", `{"employee":"e1","town":"Oslo","age":30,"born":"2000-01-02T00:00:00.000Z"}`},
		{`{"propertyMap": {"employee@test": {"filter": "uid", "properties": {"dept": "department", "code": "department.code", "boss": "department.superior.code", "all": "department.projects.role", "ids": "department.projects"}}}}`,
			"bob@local", `{"dept":"1","code":"top","boss":"low","all":["builder","closer"],"ids":["p1","p2"]}`},
		{`{"propertyMap": {"employee@test": {"filter": "uid", "properties": {"code": "department.code"}}}}`, "dan@local", `{"code":null}`},
		{`{"propertyMap": {"employee@test": {"filter": "uid", "properties": {"code": "department.code"}}}}`, "eve@local", `{}`},
		{`{"fields": {"a": {}}}`, "ann@local", `{}`},
		{`{"propertyMap": {"employee@test": {"filter": "uid", "properties": {"x": "id"}}, "project@test": {"filter": "role", "properties": {"x": "id", "open": "open"}}}}`, "builder", `{"x":"p1","open":true}`},
		// The properties are collected from a department and from the departments above it: lists
		// grow, and a single value keeps the first value found.
		{`{"propertyMap": {"department@test": {"filter": "code", "properties": {"all": "members.id", "code": "code", "project": "projects"}, "recursion": {"id": "superior"}}}}`,
			"mid", `{"all":["e2","e1"],"code":"mid","project":["p1","p2"]}`},
		{`{"propertyMap": {"employee@test": {"filter": "department", "properties": {"x": "id"}}}}`, "ann@local", `{}`}, // "ann@local" is not a number
	} {
		if got := s.profileOf(t, x.source, x.account); got != x.want {
			t.Errorf("%s by %s is\n%s, expected\n%s", x.account, x.source, got, x.want)
		}
	}
	var none *Profiles
	if fields, err := none.Load(t.Context(), "ann@local"); fields != nil || err != nil {
		t.Error("profiles that there are not")
	}
}

func TestProfileFaults(t *testing.T) {
	s := openStaffing(t)
	var faults engine.Faults
	NewProfiles(ProfilesConfig{Data: s, Meta: s}, object(t, `{"propertiesMap": {}, "propertyMap": {"employes@test": {}, "employee@test": {"filter": "login"}, "note@test": {"properties": {}},
		"chief@test": {"filter": "uid", "properties": {"a": "secret", "b": "medal.x", "c": 5, "oauth": "uid"}, "recursion": {"x": "id"}}, "project@test": []}}`, &faults))
	want := `deploy.json: options.propertiesMap: found unknown name "propertiesMap", expected "propertyMap"
profile-class deploy.json: options.propertyMap.employes@test: found class "employes@test", which does not exist, expected "employee@test"
profile-filter deploy.json: options.propertyMap.employee@test.filter: found "login", expected an attribute of class employee@test that names an account
profile-filter deploy.json: options.propertyMap.note@test.filter: found null, expected an attribute of class note@test that names an account
profile-property deploy.json: options.propertyMap.chief@test.properties.a: found "secret", expected a path to an attribute from class chief@test
profile-property deploy.json: options.propertyMap.chief@test.properties.b: found "medal.x", expected a path to an attribute from class chief@test
profile-property deploy.json: options.propertyMap.chief@test.properties.c: found 5, expected a path to an attribute from class chief@test
profile-oauth deploy.json: options.propertyMap.chief@test.properties.oauth: found the property oauth, expected another name: this one is stored with the account only
profile-recursion deploy.json: options.propertyMap.chief@test.recursion.x: found "x", expected an attribute of class chief@test
not-object deploy.json: options.propertyMap.project@test: found an array, expected an object`
	if got := describeFaults(t, faults); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
