package command_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine"
	"restsrv/engine/store/postgres/pgtest"
)

// aclApp is an application with two classes: the first has a key, and the second is a descendant
// of the first.
const aclApp = `{
  "namespace": "hr",
  "classes": [
    {"name": "person", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "phone", "type": "string"}]},
    {"name": "manager", "ancestor": "person", "properties": [{"name": "bonus", "type": "int"}]}],
  "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}}}}
}`

// managed is an application with a database, for tests of commands.
type managed struct {
	t      *testing.T
	config string
	db     string
}

// onBothDatabases runs a test with a new SQLite database and a new PostgreSQL database.
func onBothDatabases(t *testing.T, run func(t *testing.T, a managed)) {
	config := filepath.Join(apptest.WriteApplication(t, map[string]string{"deploy.json": aclApp}), "deploy.json")
	t.Run("sqlite", func(t *testing.T) { run(t, managed{t, config, "sqlite:" + filepath.Join(t.TempDir(), "test.db")}) })
	t.Run("postgres", func(t *testing.T) { run(t, managed{t, config, pgtest.Database(t)}) })
}

// run runs a command on the database and returns everything that it prints, followed by the error.
func (a managed) run(line string) string {
	a.t.Helper()
	args := append(strings.Fields(line), "-config", a.config, "-db", a.db)
	out, errs, err := apptest.RunCommand(a.t, args...)
	if err != nil {
		errs += "error: " + err.Error() + "\n"
	}
	return out + errs
}

// want runs commands and compares their output exactly.
func (a managed) want(steps ...string) {
	a.t.Helper()
	for i := 0; i < len(steps); i += 2 {
		if got := a.run(steps[i]); got != steps[i+1] {
			a.t.Errorf("restsrv %s\n%s\nwant\n%s", steps[i], got, steps[i+1])
		}
	}
}

func (a managed) addUser(id string, roles string) {
	a.t.Helper()
	var out strings.Builder
	s := command.Stdio{In: strings.NewReader("secret\n"), Out: &out, Err: &out, Env: func(string) string { return "" }}
	if err := command.Run(a.t.Context(), []string{"user", "add", "-force", "-roles", roles, id, "-config", a.config, "-db", a.db}, s); err != nil {
		a.t.Fatalf("%v\n%s", err, out.String())
	}
}

// TestACLCommands runs all subcommands of restsrv acl in one sequence.
func TestACLCommands(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, a managed) {
		a.addUser("ann@local", "")
		a.want(
			"acl list", "SUBJECT  RESOURCE  PERMISSIONS\nadmin    *         full\n",
			"acl role add clerk -name Clerks", "role clerk added\n",
			"acl role list", "ROLE   NAME\nadmin  Administrator\nclerk  Clerks\n",
			"acl grant clerk c:::person@hr read write", "clerk may read,write c:::person@hr\n",
			"acl grant -config x ann@local i:::person@hr@7 full", "ann@local may full i:::person@hr@7\n",
			"user role add ann@local clerk other", "roles of ann@local: clerk,other\nwarning: there is no role other, so it gives no permissions (restsrv acl role add)\n",
			"user role remove ann@local other", "roles of ann@local: clerk\n",
			"acl list -subject clerk", "SUBJECT  RESOURCE       PERMISSIONS\nclerk    c:::person@hr  read,write\n",
			"acl grant clerk * full", "clerk may full *\n",
			"acl deny clerk c:::person@hr write", "clerk is no longer granted write on c:::person@hr\nwarning: clerk may still write it, by its grants on *\n",
			"acl deny clerk * full", "clerk is no longer granted full on *\n",
			"acl resource declare a:::person@hr.phone -name Phone", "resource a:::person@hr.phone declared\nwarning: a:::person@hr.phone is protected from now on: it is hidden from accounts without a grant on it or on *\n",
			"acl resource remove a:::person@hr.phone", "resource a:::person@hr.phone removed\nwarning: a:::person@hr.phone is not protected any more: accounts that may read its objects can read it\n",
			"acl resource list", "RESOURCE         NAME\n*                -\nc:::person@hr    -\ni:::person@hr@7  -\n",
			"acl list -resource c:::person@hr", "SUBJECT  RESOURCE       PERMISSIONS\nclerk    c:::person@hr  read\n",
			"acl role remove clerk", "role clerk removed\nwarning: these accounts still have the role, which gives no permissions any more: ann@local (restsrv user role remove)\n",
			"acl list", "SUBJECT    RESOURCE         PERMISSIONS\nadmin      *                full\nann@local  i:::person@hr@7  full\n",
		)
	})
}

// TestACLExplains checks the output of explain for each kind of resource.
func TestACLExplains(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, a managed) {
		a.addUser("ann@local", "clerk")
		a.run("acl role add clerk")
		a.run("acl grant clerk c:::person@hr read")
		a.run("acl grant ann@local i:::person@hr@7 write")
		a.run("acl grant * * delete")
		a.want(
			"acl explain ann@local i:::person@hr@7", `ann@local on i:::person@hr@7 (object "7" of class person@hr): read,write
  the account has: role clerk
  granted: write on i:::person@hr@7 to account ann@local
  granted: read on c:::person@hr to role clerk
  granted: delete on * to everyone, which does not count for data
  missing: delete,use; to grant that: restsrv acl grant ann@local i:::person@hr@7 delete use
  note: it counts for objects of exactly this class; those of its descendants need grants of their own
`,
			"acl explain ann@local ws:::gen-ws-token", `ann@local on ws:::gen-ws-token (tokens of one's own): delete
  the account has: role clerk
  granted: delete on * to everyone
  missing: read,write,use; to grant that: restsrv acl grant ann@local ws:::gen-ws-token read write use
`,
			"acl explain anonymous c:::manager@hr", `anonymous on c:::manager@hr (class manager@hr): nothing
  granted: delete on * to everyone, which does not count for data
  missing: read,write,delete,use; to grant that: restsrv acl grant anonymous c:::manager@hr read write delete use
`,
			"acl explain ann@local a:::manager@hr.phone", `ann@local on a:::manager@hr.phone (attribute "phone" of class person@hr): full
  the account has: role clerk
  granted: delete on * to everyone, which does not count for data
  note: it is not protected: an account that may read or write an object may also read or write this attribute. It becomes protected when its resource is declared or granted
warning: attribute "phone" is declared by class person@hr: it is protected in all classes that inherit it
`,
		)
		a.run("user disable ann@local")
		if got := a.run("acl explain ann@local c:::person@hr"); !strings.Contains(got, "warning: the account is disabled, so it has none of these permissions now (restsrv user enable ann@local)\n") {
			t.Errorf("acl explain of a disabled account: got %s, want the warning that the account is disabled", got)
		}
	})
}

// rulesApp adds identities to accounts from the data (aclMetaMap) and has a role that depends on
// objects (roleMap).
const rulesApp = `{
  "namespace": "hr",
  "globals": {"plugins": {
    "aclProvider": {"module": "core/impl/access/aclMetaMap", "options": {"map": {
      "person@hr": {"isEntry": true, "sidAttribute": "user", "jumps": ["department"]}, "department@hr": {"sidAttribute": "code"}}}},
    "securedDataRepo": {"options": {"roleMap": {"note@hr": {"OWNER": {"attribute": "owner"}}}}}}},
  "classes": [
    {"name": "person", "properties": [{"name": "user", "type": "string"}, {"name": "department", "type": "reference", "refClass": "department"}]},
    {"name": "department", "properties": [{"name": "code", "type": "string"}]},
    {"name": "note", "properties": [{"name": "owner", "type": "string"}]}],
  "objects": [{"_class": "department", "id": "d", "code": "SALES"}, {"_class": "person", "id": "p", "user": "ann@local", "department": "d"}],
  "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}}}}
}`

// TestACLExplainsRules checks that explain includes permissions from the data and from roleMap, as
// the server does.
func TestACLExplainsRules(t *testing.T) {
	t.Parallel()
	config := filepath.Join(apptest.WriteApplication(t, map[string]string{"deploy.json": rulesApp}), "deploy.json")
	for kind, db := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "test.db"), "postgres": pgtest.Database(t)} {
		t.Run(kind, func(t *testing.T) {
			a := managed{t, config, db}
			p := apptest.Start(t, filepath.Dir(config), "-db", db) // makes the objects
			a.addUser("ann@local", "")
			a.run("acl grant SALES c:::note@hr read")
			a.run("acl grant OWNER c:::note@hr write")
			a.want("acl explain ann@local c:::note@hr", `ann@local on c:::note@hr (class note@hr): read
  the account has: coactor SALES
  granted: read on c:::note@hr to coactor SALES
  given by objects: write on c:::note@hr to OWNER, when $owner names the account
  missing: write, but for some objects; to grant that: restsrv acl grant ann@local c:::note@hr write
  missing: delete,use; to grant that: restsrv acl grant ann@local c:::note@hr delete use
`)
			p.Kill()
		})
	}
}

// TestACLWarns checks that unknown names are accepted with a warning.
func TestACLWarns(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, a managed) {
		a.run("acl role add clerk")
		for line, want := range map[string]string{
			"acl grant nobody * read":                   `neither a role nor an account "nobody"`,
			"acl grant clerk c:::persn@hr read":         `no class "persn@hr": is "person@hr" meant?`,
			"acl grant clerk i:::x@y@1 read":            `no class "x@y"`,
			"acl grant clerk a:::person@hr.phon read":   `no attribute "phon": is "phone" meant?`,
			"acl grant clerk a:::person@hr.id read":     `attribute "id" is of the key`,
			"acl grant clerk a:::manager@hr.phone read": `declared by class person@hr`,
			"acl resource declare a:::person@hr.phone":  `is protected from now on`,
			"acl grant clerk c::person@hr read":         `meant with three colons`,
			"acl resource declare my::own":              `nothing here asks for`,
			"acl grant clerk ws:::gen-ws-token use":     ``,
			"acl grant clerk a:::manager@hr.bonus read": `is protected from now on`,
			"acl deny clerk c:::manager@hr read":        `nothing has changed`,
			"acl resource remove a:::nobody@hr.x":       `error: no resource "a:::nobody@hr.x" is declared`,
			"acl grant clerk c:::person@hr READ":        `error: there is no permission "READ": expected read, write, delete, use, full`,
			"acl grant clerk c::: read":                 `expected c:::class@namespace`,
			"acl role add clerk":                        `error: there is a role "clerk" already`,
			"acl role remove nobody":                    `error: there is no role "nobody"`,
			"acl explain nobody@local *":                `error: there is no account "nobody@local"`,
			"user role add nobody@local clerk":          `error: there is no account "nobody@local"`,
		} {
			got := a.run(line)
			if want == "" && strings.Contains(got, "warning") || !strings.Contains(got, want) {
				t.Errorf("restsrv %s: %s; want %s", line, got, want)
			}
		}
	})
}

func TestACLUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"acl":                        "restsrv acl grant SUBJECT RESOURCE PERMISSION...",
		"acl dance":                  `unknown command "dance"; the commands are grant, deny, list, explain, role and resource`,
		"acl role":                   "expected add, remove or list",
		"acl role dance x":           `unknown command "role dance"`,
		"acl resource":               "expected declare, remove or list",
		"acl grant clerk *":          "expected SUBJECT RESOURCE PERMISSION..., found 2 arguments",
		"acl list x":                 "expected no arguments, found 1",
		"acl grant a b read -name x": "not defined: -name",
		"acl -x":                     "not defined: -x",
		"user role":                  "restsrv user role add ann@local clerk",
		"user role set ann@local x":  "expected add or remove",
	} {
		if _, errs, err := apptest.RunCommand(t, strings.Fields(line)...); !errors.Is(err, command.ErrUsage) || !strings.Contains(errs, want) {
			t.Errorf("restsrv %s: %v, printed %s; want %s", line, err, errs, want)
		}
	}
	for _, line := range []string{"acl -h", "acl grant -h", "acl role -h", "acl role add -h", "acl resource declare -h"} {
		if _, errs, err := apptest.RunCommand(t, strings.Fields(line)...); !errors.Is(err, flag.ErrHelp) || !strings.Contains(errs, "restsrv acl explain USER RESOURCE") {
			t.Errorf("restsrv %s: got %v and the output %s, want flag.ErrHelp and the usage", line, err, errs)
		}
	}
}

// TestGrantsMove checks that an export and a migration include roles, resources and grants. A
// server that runs on the target database must apply them within half a second.
func TestGrantsMove(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, a managed) {
		a.addUser("ann@local", "clerk")
		a.run("acl role add clerk")
		a.run("acl grant clerk c:::person@hr read")
		a.run("acl resource declare a:::person@hr.phone")
		want := a.run("acl list") + a.run("acl resource list") + a.run("acl role list")
		file := filepath.Join(t.TempDir(), "all.ndjson")
		a.run("export -o " + file)

		b := managed{t, a.config, "sqlite:" + filepath.Join(t.TempDir(), "restored.db")}
		running, err := command.OpenForAccess(t.Context(), b.config, b.db, command.Stdio{Env: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		defer running.Store.Close()
		before, err := running.Policy.Grants(t.Context())
		if err != nil || before.Known("c:::person@hr") {
			t.Fatalf("empty database: got a known resource or the error %v, want neither", err)
		}
		b.run("import " + file)
		time.Sleep(500 * time.Millisecond)
		after, err := running.Policy.Grants(t.Context())
		if err != nil || after.On("c:::person@hr", "clerk") != engine.MayRead || !after.Known("a:::person@hr.phone") {
			t.Errorf("half a second after the import: got no imported grants or the error %v, want the grants", err)
		}
		if got := b.run("acl list") + b.run("acl resource list") + b.run("acl role list"); got != want {
			t.Errorf("restored\n%s\nwant\n%s", got, want)
		}

		m := managed{t, a.config, "sqlite:" + filepath.Join(t.TempDir(), "migrated.db")}
		apptest.MustRun(t, "migrate", "-config", a.config, "-from", a.db, "-to", m.db)
		if got := m.run("acl list") + m.run("acl resource list") + m.run("acl role list"); got != want {
			t.Errorf("migrated\n%s\nwant\n%s", got, want)
		}
	})
}

// TestACLWithBrokenClasses checks that restsrv acl works even if the classes cannot be read.
func TestACLWithBrokenClasses(t *testing.T) {
	t.Parallel()
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": aclApp})
	if err := os.Mkdir(filepath.Join(dir, "meta"), 0o700); err != nil {
		t.Fatal(err)
	}
	apptest.WriteFile(t, filepath.Join(dir, "meta", "broken.class.json"), "{")
	a := managed{t, filepath.Join(dir, "deploy.json"), "sqlite:" + filepath.Join(t.TempDir(), "test.db")}
	a.run("acl role add clerk")
	a.want("acl grant clerk c:::anything@hr read", "clerk may read c:::anything@hr\n"+
		"warning: the classes cannot be read: names of resources are not checked\n")
	if got := a.run("acl explain admin@local *"); !strings.HasPrefix(got, "error: what an account may do depends on the application, which cannot be read:\nmeta/broken.class.json:1:2: found malformed JSON") {
		t.Errorf("acl explain without an application: got %s, want an error about the application", got)
	}
}
