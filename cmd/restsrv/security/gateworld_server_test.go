package security

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
)

// gateSide is one copy of a world for one account: either the whole copy, or the copy without the
// data that the account may not read.
type gateSide struct {
	server    *apptest.Server
	world     *gateWorld
	account   int
	namespace string
	files     map[string]string // ids of files by class/id/attribute
	next      string            // query of the latest link to a next page
}

// namespaceOf returns the namespace of a copy. Both copies have namespaces of the
// same length, so that their answers have the same length too.
func namespaceOf(world, account int, removed bool) string {
	side := "a"
	if removed {
		side = "b"
	}
	return fmt.Sprintf("w%dk%d%s", world, account, side)
}

var gateNamespace = regexp.MustCompile(`\b(w\d+k\d+)[ab]\b`)

// eachCopy calls visit for all copies of all worlds.
func eachCopy(worlds []*gateWorld, visit func(w *gateWorld, account int, namespace string, removed bool)) {
	for i, w := range worlds {
		for account := range gateAccounts {
			if len(w.Requests[account]) > 0 {
				visit(w, account, namespaceOf(i, account, false), false)
				visit(w, account, namespaceOf(i, account, true), true)
			}
		}
	}
}

// gateEvents is the beginning of the script that registers the handlers. It skips
// events of the administrator, who creates the data.
const gateEvents = `const log = options.all;
const on = (event, handler) => dataRepo.on(event, (e) => (e.user.id() === 'admin@local' ? undefined : handler(e)));
module.exports = {'GET /': () => 1};
`

// gateSetup is a service that removes objects and values. It also edits every
// remaining object, so that in both copies all objects have an editor and their
// cached attributes are up to date.
const gateSetup = `module.exports = {'POST /': async (req) => {
  const {remove, edit, all} = req.body;
  await options.all.transaction(async (tx) => {
    for (const t of edit) await tx.editItem(t.class, t.id, t.values);
    for (const t of remove) await tx.deleteItem(t.class, t.id);
    for (const t of all) await tx.editItem(t.class, t.id, {id: t.id});
  });
  for (const t of all) if (t.cached) await options.all.recache(await options.all.getItem(t.class, t.id));
  return 'done';
}};`

// writeGateApplication writes the application of some worlds.
func writeGateApplication(dir string, worlds []*gateWorld) error {
	var classes, resources []any
	events := gateEvents
	roleMap := map[string]any{}
	grants := map[string]map[string]any{"OWNER": {}}
	for account := range gateAccounts {
		grants[fmt.Sprintf("g%d", account)] = map[string]any{}
	}
	eachCopy(worlds, func(w *gateWorld, account int, namespace string, _ bool) {
		classes = append(classes, map[string]any{"name": "log", "namespace": namespace, "properties": []any{map[string]any{"name": "text", "type": "string"}}})
		for _, c := range w.Classes {
			classes = append(classes, c.definition(namespace))
			if c.OwnerRole {
				roleMap[c.Name+"@"+namespace] = map[string]any{"OWNER": map[string]any{"attribute": "owner"}}
			}
			for _, h := range c.Handlers {
				events += strings.ReplaceAll(h, "§", namespace) + "\n"
			}
		}
		rights := w.Accounts[account]
		for _, resource := range rights.Secrets {
			resources = append(resources, map[string]any{"id": resourceIn(resource, namespace)})
		}
		for role, held := range map[string]map[string]engine.Permission{fmt.Sprintf("g%d", account): rights.Grants, "OWNER": rights.Owner} {
			for resource, may := range held {
				grants[role][resourceIn(resource, namespace)] = strings.Split(may.String(), ",")
			}
		}
	})
	files := map[string]any{
		"deploy.json": map[string]any{
			"namespace": "none", "classes": classes,
			"globals": map[string]any{"plugins": map[string]any{"securedDataRepo": map[string]any{"options": map[string]any{"roleMap": roleMap}}}, "db": map[string]any{"url": "sqlite:worlds.db", "synchronous": "normal", "pool": 4}},
			"modules": map[string]any{"rest": map[string]any{"globals": map[string]any{"di": map[string]any{
				"crud": map[string]any{"module": "builtin/crud"}, "meta": map[string]any{"module": "builtin/meta"},
				"acceptor": map[string]any{"module": "builtin/acceptor", "options": map[string]any{"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}},
				"probe":    map[string]any{"module": "probe.js", "options": map[string]any{"repo": "ion://securedDataRepo"}},
				"events":   map[string]any{"module": "events.js", "options": map[string]any{"all": "ion://dataRepo"}},
				"setup":    map[string]any{"module": "setup.js", "options": map[string]any{"all": "ion://dataRepo"}}}}}}},
		"acl/all.json": gateACL(grants, resources),
	}
	texts := map[string]string{"events.js": events, "setup.js": gateSetup}
	for name, content := range files {
		texts[name] = apptest.JSON(content)
	}
	probe, err := os.ReadFile("../testdata/security/probe.js")
	texts["probe.js"] = string(probe)
	for name, text := range texts {
		file := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
	}
	return err
}

func resourceIn(resource, namespace string) string {
	kind, name, _ := strings.Cut(resource, ":")
	switch kind {
	case "i":
		return "i:::" + strings.Replace(name, "@", "@"+namespace+"@", 1)
	case "a":
		return "a:::" + strings.Replace(name, ".", "@"+namespace+".", 1)
	}
	return "c:::" + name + "@" + namespace
}

func gateACL(grants map[string]map[string]any, resources []any) any {
	roles := []any{map[string]any{"id": "root", "permissions": map[string]any{"*": []string{"full"}}}}
	for _, id := range slices.Sorted(maps.Keys(grants)) {
		roles = append(roles, map[string]any{"id": id, "permissions": grants[id]})
	}
	users := []any{map[string]any{"id": "admin", "pwd": "secret", "roles": []string{"root"}}}
	for account := range gateAccounts {
		users = append(users, map[string]any{"id": fmt.Sprintf("u%d", account), "pwd": "secret", "roles": []string{fmt.Sprintf("g%d", account)}})
	}
	return map[string]any{"users": users, "roles": roles, "resources": resources}
}

// serveGateWorlds starts a server of some worlds on an empty database.
func serveGateWorlds(dir, db string, worlds []*gateWorld) (*apptest.Server, error) {
	if err := writeGateApplication(dir, worlds); err != nil {
		return nil, err
	}
	return apptest.Serve(dir, db)
}

// fill creates the data of a copy.
func (side *gateSide) fill(removed bool) error {
	w, s := side.world, side.server
	resp, body, err := s.Send("admin@local", apptest.Request{Method: "POST", Target: "/rest/acceptor", Body: w.records(side.account, side.namespace), Header: []string{"Accept: application/problem+json"}})
	if err != nil || resp.StatusCode != 200 {
		return fmt.Errorf("seed %d: the data are refused: %v %s\n%s\n%s", w.Seed, err, body, w.records(side.account, side.namespace), s.Failures())
	}
	var records []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &records); err != nil {
		return err
	}
	side.files = map[string]string{}
	for i, row := range w.Rows {
		for _, p := range row.Class.kinds("file") {
			var file struct{ ID string }
			if json.Unmarshal(records[i][p.Name], &file) == nil && file.ID != "" {
				side.files[row.Class.Name+"/"+row.ID+"/"+p.Name] = file.ID
			}
		}
	}
	setup := gateRemoval{Remove: []gateTarget{}, Edit: []gateTarget{}, All: []gateTarget{}}
	if removed {
		gone := w.removal(side.account, side.namespace)
		setup.Remove, setup.Edit = append(setup.Remove, gone.Remove...), append(setup.Edit, gone.Edit...)
	}
	for _, row := range w.Rows {
		if !removed || !w.gone(side.account, row) {
			setup.All = append(setup.All, gateTarget{Class: row.Class.Name + "@" + side.namespace, ID: row.ID, Cached: row.Class.cached()})
		}
	}
	resp, body, err = s.Send("admin@local", apptest.Request{Method: "POST", Target: "/rest/setup", Body: apptest.JSON(setup)})
	if err != nil || resp.StatusCode != 200 {
		return fmt.Errorf("seed %d: removing the hidden data failed: %v %s\n%s\n%s", w.Seed, err, body, apptest.JSON(setup), s.Failures())
	}
	return nil
}

// cached reports whether a class has cached attributes.
func (c *gateClass) cached() bool {
	return slices.ContainsFunc(c.all(), func(p *gateProperty) bool { return p.Details["cached"] == true })
}

var (
	gateFile     = regexp.MustCompile(`\{file:([^}]*)\}`)
	gateETag     = regexp.MustCompile(`\{etag:([^}]*)\}`)
	gateLink     = regexp.MustCompile(`^<[^?]*(\?.*)>; rel="next"$`)
	gateCursor   = regexp.MustCompile(`_after=[^&>]*`)
	gateSettling = []string{"Content-Length", "Date", "Etag", "Link"}
)

// resolve replaces the placeholders of a request for this copy.
func (side *gateSide) resolve(r gateRequest) (gateRequest, error) {
	var failed error
	text := func(s string) string {
		s = strings.ReplaceAll(s, "§", side.namespace)
		s = gateFile.ReplaceAllStringFunc(s, func(m string) string { return side.files[gateFile.FindStringSubmatch(m)[1]] })
		s = gateETag.ReplaceAllStringFunc(s, func(m string) string {
			class, id, _ := strings.Cut(gateETag.FindStringSubmatch(m)[1], "/")
			resp, _, err := side.server.Send(accountName(side.account), apptest.Request{Method: "GET", Target: "/rest/crud/" + class + "@" + side.namespace + "/" + id})
			if err != nil {
				failed = err
				return ""
			}
			if tag := resp.Header.Get("ETag"); tag != "" {
				return tag
			}
			return `"x"`
		})
		return s
	}
	r.Target, r.Body = text(r.Target), text(r.Body)
	if path, is := strings.CutSuffix(r.Target, "{next}"); is {
		r.Target = path + side.next
	}
	header := r.Header
	r.Header = nil
	for _, h := range header {
		r.Header = append(r.Header, text(h))
	}
	return r, failed
}

// answer sends a request and returns the answer. It leaves out the namespace of this copy and
// values that differ each time.
func (side *gateSide) answer(r gateRequest) (string, error) {
	r, err := side.resolve(r)
	if err != nil {
		return "", err
	}
	resp, body, err := side.server.Send(accountName(side.account), apptest.Request{Method: r.Method, Target: r.Target, Body: r.Body, Header: r.Header})
	if err != nil {
		return "", err
	}
	if m := gateLink.FindStringSubmatch(resp.Header.Get("Link")); m != nil {
		side.next = m[1]
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	if tag := resp.Header.Get("Etag"); strings.HasPrefix(tag, "W/") {
		fmt.Fprintln(&b, "ETag: weak")
	} else if tag != "" {
		fmt.Fprintln(&b, "ETag: strong")
	}
	if link := resp.Header.Get("Link"); link != "" {
		fmt.Fprintln(&b, "Link: "+gateCursor.ReplaceAllString(link, "_after=…"))
	}
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if !slices.Contains(gateSettling, name) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(resp.Header[name], "\n"))
		}
	}
	text := b.String() + "\n" + body
	if unescaped, err := url.QueryUnescape(text); err == nil && strings.Contains(text, "%40") {
		text = unescaped
	}
	return apptest.MaskVariable(gateNamespace.ReplaceAllString(text, "$1")), nil
}
