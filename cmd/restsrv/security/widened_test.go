package security

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// widenedDeploy is an application in which an account without grants has permissions from roles,
// stages and the data. The first %s is replaced by roles of the class pet, the second by
// plug-ins.
const widenedDeploy = `{"namespace": "a", "globals": {"plugins": {"securedDataRepo": {"options": {"roleMap": {"pet@a": {"reader": {"sids": ["anonymous"]}%s}}}}%s}},
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "workflows": {"module": "builtin/workflows"}}, "authMode": {"crud": "none", "workflows": "none"}}}},
 "classes": [
  {"name": "pet", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "owner", "type": "string", "nullable": true}, {"name": "name", "type": "string", "nullable": true}]},
  {"name": "person", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "account", "type": "string", "nullable": true}, {"name": "boss", "type": "reference", "refClass": "person", "nullable": true}]}],
 "objects": [{"_class": "person@a", "id": "chief", "account": "chief"}, {"_class": "person@a", "id": "one", "account": "anonymous", "boss": "chief"},
  {"_class": "pet@a", "id": "p1", "owner": "anonymous"}, {"_class": "pet@a", "id": "p2", "owner": "chief"}, {"_class": "pet@a", "id": "p3"}]}`

const widenedACL = `{"roles": [{"id": "reader", "permissions": {"c:::pet@a": ["read", "write"]}}, {"id": "keeper", "permissions": {"*": ["full"]}},
 {"id": "chief", "permissions": {"*": ["full"]}}], "users": [{"id": "someone@oauth"}]}`

// faultyDefinition is a definition of permissions with a mistake.
type faultyDefinition struct {
	roles    string // of class pet, after a comma
	plugins  string // after a comma
	workflow string // content of the workflow file
}

func (d faultyDefinition) String() string { return d.roles + d.plugins + d.workflow }

// faultyDefinitions returns definitions of permissions with a mistake. If the server ignored only
// the wrong part instead of the whole definition, an account would get more permissions.
func faultyDefinitions() (all []faultyDefinition) {
	for _, role := range []string{
		`"anonymous"`, `{"sids": "anonymous"}`, `{"sids": {"a": "anonymous"}}`, `{"sids": [["anonymous", "$nosuch"]]}`, `{"sids": [["anonymous", 5]]}`,
		`{"sids": [["anonymous", [{}]]]}`, `{"attribute": "nosuch"}`, `{"attribute": 5}`, `{"sids": ["anonymous"], "conditions": {"eq": ["$nosuch", 1]}}`,
		`{"sids": ["anonymous"], "conditions": 5}`, `{"sids": ["anonymous"], "conditions": [[5]]}`, `{"sids": ["anonymous"], "resource": "n:::x"}`, `{"sids": ["anonymous"], "resource": {"id": 5}}`,
	} {
		all = append(all, faultyDefinition{roles: `, "keeper": ` + role})
	}
	all = append(all, faultyDefinition{roles: `}, "nosuch@a": {"keeper": {"sids": ["anonymous"]}`})
	for _, entry := range []string{
		`"nosuch@a": {"isEntry": true, "sidAttribute": "account"}`, `"person@a": {"isEntry": true, "sidAttribute": "nosuch", "jumps": ["boss"]}`,
		`"person@a": {"isEntry": true, "jumps": ["boss"]}`, `"person@a": {"isEntry": "yes", "sidAttribute": "account", "jumps": ["boss"]}`,
		`"person@a": {"isEntry": true, "sidAttribute": "account", "jumps": {"boss": {"eq": ["$nosuch", 1]}}}`,
		`"person@a": {"isEntry": true, "sidAttribute": "account", "jumps": {"boss": 5}}`, `"person@a": {"isEntry": true, "sidAttribute": "account", "jumps": "boss"}`, `"person@a": 5`,
	} {
		all = append(all, faultyDefinition{plugins: `, "aclProvider": {"module": "core/impl/access/aclMetaMap", "options": {"map": {` + entry + `}}}`})
	}
	const gives = `"itemPermissions": [{"role": "anonymous", "permissions": 31}]`
	for _, state := range []string{
		`"conditions": {"eq": ["$nosuch", 1]}, ` + gives, `"conditions": [{"property": "id", "operation": 0, "value": ["$$nosuch"]}], ` + gives, `"conditions": 5, ` + gives,
		`"itemPermissions": {"role": "anonymous", "permissions": 31}`, `"itemPermissions": [{"role": "anonymous", "permissions": 99}]`, `"itemPermissions": [{"permissions": 31}]`, `"itemPermissions": ["anonymous"]`,
		`"propertyPermissions": 5`, `"propertyPermissions": ["name"]`, `"propertyPermissions": [{"property": 5}]`, `"conditions": {"eq": ["$nosuch", 1]}, "propertyPermissions": [{"property": "name"}]`,
	} {
		all = append(all, faultyDefinition{workflow: `{"name": "w", "wfClass": "pet", "startState": "x", "transitions": [], "states": [{"name": "x", ` + state + `}]}`})
	}
	for _, transition := range []string{
		`"roles": "anonymous"`, `"roles": ["anonymous", 5]`, `"roles": ["anonymous"], "conditions": {"eq": ["$nosuch", 1]}`, `"roles": ["anonymous"], "conditions": [5]`,
		`"roles": ["anonymous"], "conditions": [{"property": "id", "operation": 1, "value": ["$$nosuch"]}]`, `"roles": {"a": 1}`,
	} {
		all = append(all, faultyDefinition{workflow: `{"name": "w", "wfClass": "pet", "startState": "x", "states": [{"name": "x"}, {"name": "y"}],
 "transitions": [{"name": "t", "startState": "x", "finishState": "y", ` + transition + `, "assignments": [{"key": "name", "value": "moved"}]}]}`})
	}
	return all
}

// allowed starts a server with a definition on a database and returns the permissions of the
// account for all objects. If db is "", it uses SQLite.
func (d faultyDefinition) allowed(t *testing.T, db string) map[string]bool {
	c := apptest.NewCase(t, db)
	defer c.StopServer()
	c.WriteFile("deploy.json", fmt.Sprintf(widenedDeploy, d.roles, d.plugins))
	c.WriteFile("acl/roles.json", widenedACL)
	if d.workflow != "" {
		c.WriteFile("workflows/w.wf.json", d.workflow)
	}
	c.StartServer()
	may := map[string]bool{}
	ask := func(method, path, body string) string {
		resp, text := c.Ask(method, path, body)
		may[method+" "+path+" "+body] = resp.StatusCode < 300
		return text
	}
	classes := map[string][]string{"pet@a": {"p1", "p2", "p3"}, "person@a": {"chief", "one"}}
	for class, ids := range classes {
		list := ask("GET", "/rest/crud/"+class, "")
		for _, id := range ids {
			may["listed "+class+" "+id] = strings.Contains(list, `"_id":"`+id+`"`)
			ask("GET", "/rest/crud/"+class+"/"+id, "")
		}
	}
	for _, id := range classes["pet@a"] {
		body := ask("PUT", "/rest/workflows/pet@a/"+id, `["w@a.t"]`)
		may["transition of "+id] = strings.TrimSpace(body) == "[]"
		may[`PUT /rest/workflows/pet@a/`+id+` ["w@a.t"]`] = false // the answer already shows the stage
		for _, attribute := range []string{"name", "owner"} {
			ask("PATCH", "/rest/crud/pet@a/"+id, `{"`+attribute+`":"`+attribute+`"}`)
		}
	}
	ask("PATCH", "/rest/crud/person@a/one", `{"account":"x"}`)
	ask("POST", "/rest/crud/pet@a", `{"id":"p4"}`)
	for class, ids := range classes {
		for _, id := range ids {
			ask("DELETE", "/rest/crud/"+class+"/"+id, "")
		}
	}
	return may
}

// TestFaultyDefinitionsGiveNothing compares the permissions of an account with and
// without each faulty definition: a faulty definition must not add permissions.
func TestFaultyDefinitionsGiveNothing(t *testing.T) {
	t.Parallel()
	databases := map[string]func(*testing.T) string{"sqlite": func(*testing.T) string { return "" }}
	if !apptest.RaceDetector {
		databases["postgres"] = func(t *testing.T) string { return pgtest.Database(t) }
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			without := faultyDefinition{}.allowed(t, database(t))
			if !without[`PATCH /rest/crud/pet@a/p1 {"name":"name"}`] || without["DELETE /rest/crud/pet@a/p1 "] {
				t.Fatalf("without a faulty definition: got %v, want only the right to change pets", without)
			}
			// First, a check of the requests themselves: they must detect an additional
			// permission.
			if with := (faultyDefinition{roles: `, "keeper": {"sids": ["anonymous"]}`}).allowed(t, database(t)); !with["DELETE /rest/crud/pet@a/p1 "] {
				t.Fatal("a correct definition: got no additional right, want one")
			}
			for _, d := range faultyDefinitions() {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					for what, may := range d.allowed(t, database(t)) {
						if may && !without[what] {
							t.Errorf("%s: got an additional right, want none: %s", d, what)
						}
					}
				})
			}
		})
	}
}
