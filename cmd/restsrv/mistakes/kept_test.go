package mistakes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine/store/postgres/pgtest"
)

// keptClasses are class files without mistakes.
var keptClasses = map[string]string{
	"meta/names.class.json": `{"name": "names", "isStruct": true, "properties": [{"name": "first", "type": 0, "nullable": true}, {"name": "last", "type": 0, "nullable": true}]}`,
	"meta/owner.class.json": `{"name": "owner", "key": ["id"], "properties": [{"name": "id", "type": 0}, {"name": "code", "type": 0, "nullable": true},
 {"name": "pets", "type": 14, "itemsClass": "pet", "backRef": "owner"}]}`,
	"meta/toy.class.json": `{"name": "toy", "key": ["id"], "properties": [{"name": "id", "type": 0}, {"name": "users", "type": 14, "itemsClass": "pet", "backColl": "toys"}]}`,
	"meta/pet.class.json": `{"name": "pet", "key": ["id"], "creationTracker": "born", "compositeIndexes": [{"properties": ["age", "weight"]}], "properties": [
 {"name": "id", "type": 0},
 {"name": "note", "type": 0, "nullable": true},
 {"name": "age", "type": 6, "orderNumber": 10, "nullable": true},
 {"name": "weight", "type": 8, "nullable": true},
 {"name": "born", "type": 9, "nullable": true},
 {"name": "any", "type": 17, "nullable": true},
 {"name": "name", "type": 16, "refClass": "names"},
 {"name": "owner", "type": 13, "refClass": "owner", "nullable": true},
 {"name": "friends", "type": 14, "itemsClass": "pet"},
 {"name": "toys", "type": 14, "itemsClass": "toy", "backColl": "users"},
 {"name": "label", "type": 0, "cached": true, "formula": {"concat": ["$id", "!"]}}]}`,
	"meta/cat.class.json": `{"name": "cat", "ancestor": "pet", "properties": [{"name": "lives", "type": 6, "nullable": true}, {"name": "nick", "type": 0, "nullable": true}]}`,
}

// keptObjects contains a value for each stored attribute.
const keptObjects = `[{"_class": "owner@a", "id": "o1", "code": "c1"}, {"_class": "toy@a", "id": "t1"}, {"_class": "toy@a", "id": "t2"},
 {"_class": "pet@a", "id": "p1", "note": "n", "age": 1, "weight": "1.50", "born": "2020-01-02T03:04:05.006Z", "any": {"a": [1, null]}, "name$first": "Rex", "name$last": "R", "owner": "o1", "toys": ["t1", "t2"]},
 {"_class": "cat@a", "id": "c1", "note": "n", "age": 2, "weight": "2", "born": "2021-01-02T03:04:05.006Z", "any": 5, "name$first": "Tom", "owner": "o1", "friends": ["p1", "c1"], "toys": ["t2"], "lives": 7, "nick": "Tommy"}]`

// keptMistakes are mistakes in the class files that affect columns or tables of links. Each has
// the code of the rule, the file, the correct text, and the wrong text that replaces it.
var keptMistakes = []struct{ code, file, good, bad string }{
	{"attribute-shape", "pet", `{"name": "weight", "type": 8, "nullable": true}`, `"weight"`},
	{"attribute-name", "pet", `"name": "note"`, `"name": "no.te"`},
	{"attribute-name", "pet", `"name": "note"`, `"name": "_id"`},
	{"attribute-name", "pet", `"name": "age"`, `"name": null`},
	{"attribute-twice", "pet", `{"name": "weight",`, `{"name": "age", "type": 0, "unique": true}, {"name": "weight",`},
	{"attribute-twice", "pet", `{"name": "weight",`, `{"name": "age", "type": 0, "orderNumber": 20}, {"name": "weight",`},
	{"attribute-case", "pet", `{"name": "weight",`, `{"name": "Age", "type": 0, "nullable": true}, {"name": "weight",`},
	{"part-twice", "pet", `{"name": "weight",`, `{"name": "name$first", "type": 6, "nullable": true}, {"name": "weight",`},
	{"type-missing", "pet", `"name": "any", "type": 17,`, `"name": "any",`},
	{"type-missing", "pet", `"name": "age", "type": 6,`, `"name": "age",`},
	{"type-unknown", "pet", `"name": "any", "type": 17,`, `"name": "any", "type": 99,`},
	{"type-unknown", "pet", `"name": "note", "type": 0,`, `"name": "note", "type": "0",`},
	{"type-unknown", "pet", `"name": "weight", "type": 8,`, `"name": "weight", "type": {},`},
	{"structure-class", "pet", `"refClass": "names"`, `"refClass": "nams"`},
	{"structure-circle", "names", `{"name": "last", "type": 0,`, `{"name": "last", "type": 16, "refClass": "names",`},
	{"tree-type", "cat", `{"name": "nick",`, `{"name": "age", "type": 0, "nullable": true}, {"name": "nick",`},
	{"tree-case", "cat", `{"name": "nick",`, `{"name": "NOTE", "type": 0, "nullable": true}, {"name": "nick",`},
	{"tree-key", "cat", `{"name": "nick",`, `{"name": "id", "type": 6}, {"name": "nick",`},
	{"class-shape", "cat", keptClasses["meta/cat.class.json"], `[]`},
	{"class-name", "cat", `"name": "cat"`, `"name": "c@t"`},
	{"ancestor-missing", "cat", `"ancestor": "pet"`, `"ancestor": "pets"`},
	{"ancestor-missing", "cat", `"ancestor": "pet"`, `"ancestor": 5`},
	{"ancestor-circle", "pet", `"key": ["id"]`, `"key": ["id"], "ancestor": "cat"`},
	{"properties-missing", "owner", `"properties": [`, `"properties": {}, "other": [`},
	{"properties-missing", "cat", `"properties": [`, `"other": [`},
	{"key-missing", "owner", `"key": ["id"], `, ``},
	{"key-missing", "owner", `"key": ["id"]`, `"key": 5`},
	{"key-unknown", "owner", `{"name": "id", "type": 0}, `, ``},
	{"key-unknown", "owner", `"key": ["id"]`, `"key": ["nosuch"]`},
	{"key-twice", "owner", `"key": ["id"]`, `"key": ["id", "id"]`},
	{"key-text", "owner", `"name": "id", "type": 0`, `"name": "id", "type": 1`},
	{"key-real", "owner", `"name": "id", "type": 0`, `"name": "id", "type": 7`},
	{"key-type", "owner", `"name": "id", "type": 0`, `"name": "id", "type": 5`},
	{"key-calculated", "owner", `"name": "id", "type": 0`, `"name": "id", "type": 0, "formula": {"concat": ["x"]}`},
	{"key-of-descendant", "cat", `"ancestor": "pet"`, `"ancestor": "pet", "key": ["nick"]`},
	{"tracker-type", "pet", `"creationTracker": "born"`, `"creationTracker": "age"`},
	{"tracker-text", "pet", `"creationTracker": "born"`, `"creationTracker": "note"`},
	{"index-unknown", "pet", `["age", "weight"]`, `["age", "wait"]`},
	{"not-array", "pet", `[{"properties": ["age", "weight"]}]`, `{"properties": ["age"]}`},
	{"not-flag", "pet", `"name": "note", "type": 0, "nullable": true`, `"name": "note", "type": 0, "nullable": 1`},
	{"not-number", "pet", `"name": "note", "type": 0,`, `"name": "note", "type": 0, "size": -1,`},
	{"reference-class", "pet", `"refClass": "owner"`, `"refClass": "ownr"`},
	{"reference-class", "pet", `"refClass": "owner"`, `"refClass": {}`},
	{"backref-unknown", "pet", `"refClass": "owner"`, `"refClass": "owner", "backRef": "nosuch"`},
	{"collection-class", "pet", `"name": "friends", "type": 14, "itemsClass": "pet"`, `"name": "friends", "type": 14, "itemsClass": "dog"`},
	{"collection-class-backref", "owner", `"itemsClass": "pet"`, `"itemsClass": "pat"`},
	{"backref-unknown", "owner", `"backRef": "owner"`, `"backRef": "onwer"`},
	{"backref-type", "owner", `"backRef": "owner"`, `"backRef": "age"`},
	{"binding-unknown", "owner", `"backRef": "owner"`, `"backRef": "owner", "binding": "nosuch"`},
	{"other-side-unknown", "pet", `"backColl": "users"`, `"backColl": "user"`},
	{"other-side-type", "pet", `"backColl": "users"`, `"backColl": "id"`},
	{"subclass-unknown", "pet", `"refClass": "owner"`, `"refClass": "owner", "allowedSubclasses": ["nosuch"]`},
	{"formula-invalid", "pet", `{"concat": ["$id", "!"]}`, `{"concatenate": ["$id", "!"]}`},
	{"formula-attribute", "pet", `{"concat": ["$id", "!"]}`, `{"concat": ["$id", "!", "$nosuch"]}`},
	{"formula-invalid", "pet", `"name": "note", "type": 0,`, `"name": "note", "type": 0, "cached": true, "formula": {"nosuch": []},`},
	{"formula-invalid", "pet", `"name": "age", "type": 6,`, `"name": "age", "type": 6, "formula": {"nosuch": []},`},
	{"default-value", "pet", `"name": "age", "type": 6,`, `"name": "age", "type": 6, "defaultValue": "many",`},
}

// TestNothingIsLost makes each mistake while a server runs, reloads the application, writes to
// the objects, and corrects the mistake. All stored values must still be there. Then it does the
// same with restarts instead of reloads. Finally it exports the data of the application with the
// mistake, and imports the export into new databases, with and without the mistake. These
// databases must contain all values too.
func TestNothingIsLost(t *testing.T) {
	databases := map[string]func(*testing.T) string{"sqlite": func(*testing.T) string { return "" }}
	if !apptest.RaceDetector {
		databases["postgres"] = func(t *testing.T) string { return pgtest.Database(t) }
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeper{T: t, dir: t.TempDir(), db: database(t)}
			k.write("deploy.json", `{"namespace": "a", "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"},
 "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}}}, "authMode": {"crud": "none", "acceptor": "none"}}}}}`)
			k.write("acl/open.json", openACL)
			for file, text := range keptClasses {
				k.write(file, text)
			}
			k.start()
			if status, body := k.ask("POST", "/rest/acceptor", keptObjects); status != 200 {
				t.Fatalf("saving the objects: got %d %s, want 200", status, body)
			}
			k.touch()
			want := k.export()
			for _, again := range []struct {
				how  string
				load func() bool
			}{{"reload", k.reload}, {"restart", k.restart}} {
				for _, m := range keptMistakes {
					k.play(fmt.Sprintf("%s with %s in %s", again.how, m.code, m.file), "meta/"+m.file+".class.json", m.code, m.good, m.bad, again.load, want)
				}
			}
			k.process.Stop(t)
		})
	}
}

// keeper runs a server on an application.
type keeper struct {
	*testing.T
	dir, db string
	process *apptest.Process
}

// play makes a mistake and corrects it.
func (k *keeper) play(what, file, code, good, bad string, load func() bool, want []string) {
	k.Helper()
	text := keptClasses[file]
	if strings.Count(text, good) != 1 {
		k.Fatalf("%s: the file contains %q %d times, want once", what, good, strings.Count(text, good))
	}
	k.write(file, strings.Replace(text, good, bad, 1))
	process, before := k.process, len(k.process.Log())
	loaded := load()
	if k.process != process {
		before = 0
	}
	if loaded {
		if rule := ruleOf(code); rule == nil || !strings.Contains(k.process.Log()[before:], rule.Resolution) && code != "subclass-unknown" {
			k.Errorf("%s: got no mistake in the log, want one", what)
		}
		k.touch()
		if strings.HasPrefix(what, "reload") {
			exported := k.exportText(k.dbFlags())
			k.expectCopy(what+", imported with the mistake", exported, file, text, want)
			k.expectCopy(what+", imported without the mistake", exported, file, text, want)
			k.write(file, strings.Replace(text, good, bad, 1))
		}
	} else if !strings.Contains(k.process.Log()[before:], "values") && !strings.Contains(k.process.Log()[before:], "links") &&
		!strings.Contains(k.process.Log()[before:], "type") && !strings.Contains(k.process.Log()[before:], "key") && !strings.Contains(k.process.Log()[before:], "root") {
		k.Errorf("%s: want a refusal that names the stored data, got\n%s", what, k.process.Log()[before:])
	}
	k.write(file, text)
	if !loaded && strings.HasPrefix(what, "reload") {
		_ = k.process.Cmd.Process.Signal(syscall.SIGHUP) // the reload finds the same files, so the server does not log a reload
	} else if !load() {
		k.Fatalf("%s: the server did not reload after the mistake was corrected:\n%s", what, k.process.Log())
	}
	k.touch()
	if got := k.export(); !slices.Equal(got, want) {
		k.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// touch writes to objects the values that they already have, as far as the application with the
// mistake allows such writes.
func (k *keeper) touch() {
	k.ask("PATCH", "/rest/crud/pet@a/p1", `{"note": "n"}`)
	k.ask("PATCH", "/rest/crud/cat@a/c1", `{"lives": 7}`)
}

func (k *keeper) write(name, text string) {
	k.Helper()
	file := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		k.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		k.Fatal(err)
	}
}

func (k *keeper) start() {
	k.Helper()
	k.process = apptest.Start(k.T, k.dir, k.dbFlags()...)
}

func (k *keeper) dbFlags() []string {
	if k.db == "" {
		return nil
	}
	return []string{"-db", k.db}
}

// reload makes the server reload the application. It reports whether the server now uses it.
func (k *keeper) reload() (taken bool) {
	k.Helper()
	before := len(k.process.Log())
	if err := k.process.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		k.Fatal(err)
	}
	for end := time.Now().Add(apptest.Timeout); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		log := k.process.Log()[before:]
		if taken = strings.Contains(log, "application reloaded"); taken || strings.Contains(log, "goes on as it was") {
			return taken
		}
	}
	k.Fatalf("the server did not reload the application:\n%s", k.process.Log())
	return false
}

// restart restarts the server. If the server does not start, k.process is a process that has
// ended.
func (k *keeper) restart() (taken bool) {
	k.Helper()
	select {
	case <-k.process.Done:
	default:
		k.process.Stop(k.T)
	}
	k.process = apptest.Launch(k.T, k.dir, k.dbFlags()...)
	select {
	case a := <-k.process.Addr:
		k.process.URL = "http://" + a
		return true
	case <-k.process.Done:
		return false
	}
}

func (k *keeper) ask(method, path, body string) (int, string) {
	k.Helper()
	select {
	case <-k.process.Done:
		return 0, ""
	default:
	}
	status, text, err := k.process.Request(method, path, "application/json", body)
	if err != nil {
		k.Fatal(err)
	}
	return status, text
}

// expectCopy imports an export into a new database of the application. It then restores
// the file with the mistake and compares the objects of the database. If objects were not
// imported, because their class is left out, a second import without the mistake must
// import them.
func (k *keeper) expectCopy(what, exported, file, text string, want []string) {
	k.Helper()
	db := []string{"-db", "sqlite:" + filepath.Join(k.T.TempDir(), "copy.db")}
	if k.db != "" {
		used := &apptest.Scope{TB: k.T}
		defer used.End() // another copy uses the database again, which is cheaper than a new one
		db[1] = pgtest.Database(used)
	}
	take := func() (string, error) {
		var out bytes.Buffer
		args := append([]string{"import", "-config", filepath.Join(k.dir, "deploy.json")}, append(db, "-")...)
		err := command.Run(context.Background(), args, command.Stdio{In: strings.NewReader(exported), Out: &out, Err: &out, Env: func(string) string { return "" }})
		return out.String(), err
	}
	out, err := take()
	k.write(file, text)
	if err != nil && strings.Contains(out, "not taken: ") && strings.HasSuffix(what, "with the mistake") {
		out, err = take()
	}
	if err != nil {
		k.Errorf("%s: %v\n%s", what, err, out)
	}
	if got := sortedLines(k.exportText(db)); !slices.Equal(got, want) {
		k.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// export returns the lines of an export of the database, sorted.
func (k *keeper) export() []string {
	k.Helper()
	return sortedLines(k.exportText(k.dbFlags()))
}

func sortedLines(text string) []string {
	all := apptest.TextLines(text)
	slices.Sort(all)
	return all
}

// exportText returns the output of restsrv export. db holds the flags for the database.
func (k *keeper) exportText(db []string) string {
	k.Helper()
	var out, failed bytes.Buffer
	args := append([]string{"export", "-config", filepath.Join(k.dir, "deploy.json")}, db...)
	if err := command.Run(context.Background(), args, command.Stdio{In: strings.NewReader(""), Out: &out, Err: &failed, Env: func(string) string { return "" }}); err != nil {
		k.Errorf("restsrv export: %v\n%s", err, failed.String())
	}
	return out.String()
}
