package mistakes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// jsonObject is a JSON object of a generated application.
type jsonObject = map[string]any

// generatedApp is a random application with features that real applications use. It contains
// mistakes only if they are planted.
type generatedApp struct {
	*rand.Rand
	files   map[string]any // by path: JSON, or the text of a file as rawText
	classes []*generatedClass
	fresh   int // number of names that are used
}

type rawText string

type generatedClass struct {
	name   string
	file   jsonObject
	parent *generatedClass
}

func (c *generatedClass) full() string { return c.name + "@g" }

func (c *generatedClass) root() *generatedClass {
	if c.parent != nil {
		return c.parent
	}
	return c
}

func (c *generatedClass) add(attribute any) {
	list, _ := c.file["properties"].([]any)
	c.file["properties"] = append(list, attribute)
}

// path returns the path of the class file.
func (c *generatedClass) path() string { return "meta/" + c.name + ".class.json" }

// newGeneratedApp creates an application with two to four trees of classes.
func newGeneratedApp(r *rand.Rand) *generatedApp {
	g := &generatedApp{Rand: r, files: map[string]any{}}
	var roots []*generatedClass
	for range 2 + g.IntN(3) {
		root := g.addClass(nil)
		roots = append(roots, root)
		for range g.IntN(3) {
			g.addClass(root)
		}
	}
	g.files["meta/parts.class.json"] = jsonObject{"name": "parts", "isStruct": true, "properties": []any{
		jsonObject{"name": "first", "type": 0, "nullable": true}, jsonObject{"name": "second", "type": 6, "nullable": true}}}
	for _, c := range roots {
		g.addRelations(c, roots[g.IntN(len(roots))])
	}
	for _, c := range g.classes {
		for n := range 3 {
			g.addObject(c, fmt.Sprintf("%s-%d", c.name, n), roots)
		}
	}
	g.addDeploy(roots)
	g.addWorkflow(roots[0])
	g.files["navigation/main.section.json"] = jsonObject{"name": "main", "caption": "Main", "orderNumber": 1, "mode": 0}
	for _, c := range roots {
		g.files["navigation/main/"+c.name+".json"] = jsonObject{"code": c.name, "orderNumber": 1, "type": 1, "caption": c.name, "classname": c.full()}
		g.files["views/"+c.full()+"/list.json"] = jsonObject{"columns": []any{jsonObject{"caption": "Name", "property": "name", "type": 1, "orderNumber": 10}}}
	}
	return g
}

// newName returns a name that the application does not use yet.
func (g *generatedApp) newName(prefix string) string {
	g.fresh++
	return fmt.Sprintf("%s%d", prefix, g.fresh)
}

// chance returns true in one of n cases.
func (g *generatedApp) chance(n int) bool { return g.IntN(n) == 0 }

func (g *generatedApp) addClass(parent *generatedClass) *generatedClass {
	c := &generatedClass{name: g.newName("class"), parent: parent}
	c.file = jsonObject{"name": c.name, "caption": strings.ToUpper(c.name), "properties": []any{}}
	if parent != nil {
		c.file["ancestor"] = parent.name
	} else {
		c.file["key"] = []any{"id"}
		c.file["semantic"] = "name| (|id|)"
		c.file["creationTracker"], c.file["creatorTracker"] = "made", "maker"
		c.file["compositeIndexes"] = []any{jsonObject{"properties": []any{"number", "amount"}}}
		for i, a := range []jsonObject{
			{"name": "id", "type": 0}, {"name": "name", "type": 0, "nullable": true}, {"name": "owner", "type": 18, "nullable": true},
			{"name": "made", "type": 9, "nullable": true}, {"name": "maker", "type": 0, "nullable": true},
			{"name": "number", "type": 6, "nullable": true, "indexed": true}, {"name": "amount", "type": 8, "nullable": true},
		} {
			a["orderNumber"] = 10 * (i + 1)
			c.add(a)
		}
	}
	for range 1 + g.IntN(4) {
		c.add(g.plainAttribute())
	}
	g.classes = append(g.classes, c)
	g.files[c.path()] = c.file
	return c
}

// plainAttribute returns an attribute that is neither a reference nor a collection.
func (g *generatedApp) plainAttribute() jsonObject {
	types := []int{0, 1, 2, 3, 6, 7, 8, 9, 10, 12, 17, 18}
	a := jsonObject{"name": g.newName("a"), "caption": "Attribute", "type": types[g.IntN(len(types))], "nullable": true}
	switch g.IntN(6) {
	case 0:
		a["type"], a["defaultValue"] = 0, "new"
	case 1:
		a["type"], a["formula"], a["cached"] = 0, jsonObject{"concat": []any{"$id", "!"}}, true
	case 2:
		a["type"], a["selectionProvider"] = 0, jsonObject{"type": "SIMPLE", "list": []any{jsonObject{"key": "new", "value": "New"}}}
	}
	return a
}

// addRelations adds a structure, a reference to another class, and the collections on
// both sides.
func (g *generatedApp) addRelations(c, other *generatedClass) {
	c.add(jsonObject{"name": "part", "type": 16, "refClass": "parts", "nullable": true})
	c.add(jsonObject{"name": "ref", "type": 13, "refClass": other.name, "nullable": true})
	other.add(jsonObject{"name": g.newName("backs"), "type": 14, "itemsClass": c.name, "backRef": "ref", "selSorting": []any{jsonObject{"property": "name", "mode": 0}},
		"selConditions": []any{jsonObject{"property": "number", "operation": 0, "value": []any{1}}}})
	mine, theirs := g.newName("links"), g.newName("links")
	c.add(jsonObject{"name": mine, "type": 14, "itemsClass": other.name, "backColl": theirs})
	other.add(jsonObject{"name": theirs, "type": 14, "itemsClass": c.name, "backColl": mine})
}

// addObject adds an object with values for most attributes.
func (g *generatedApp) addObject(c *generatedClass, id string, roots []*generatedClass) {
	o := jsonObject{"id": id}
	for _, class := range []*generatedClass{c.root(), c} {
		list, _ := class.file["properties"].([]any)
		for _, v := range list {
			a, _ := v.(jsonObject)
			name, _ := a["name"].(string)
			typ, _ := a["type"].(int)
			if name == "id" || a["formula"] != nil || g.chance(8) {
				continue
			}
			target, _ := a["refClass"].(string)
			if typ == 14 {
				target, _ = a["itemsClass"].(string)
			}
			switch typ {
			case 13:
				o[name] = fmt.Sprintf("%s-%d", target, g.IntN(3))
			case 14:
				if a["backRef"] == nil {
					o[name] = []any{fmt.Sprintf("%s-%d", target, g.IntN(3))}
				}
			case 16:
				o[name+"$first"], o[name+"$second"] = "one", g.IntN(100)
			default:
				o[name] = g.value(typ)
			}
		}
	}
	o["owner"] = []any{"guest@oauth", "chief@oauth"}[g.IntN(2)]
	g.files["data/"+c.name+"@g@"+id+".json"] = o
}

func (g *generatedApp) value(typ int) any {
	switch typ {
	case 6:
		return g.IntN(1000)
	case 7:
		return float64(g.IntN(1000)) / 4
	case 8:
		return fmt.Sprintf("%d.%d", g.IntN(1000), 1+g.IntN(9))
	case 9:
		return fmt.Sprintf("20%02d-03-04T05:06:07.000Z", g.IntN(30))
	case 10:
		return g.chance(2)
	case 12:
		return fmt.Sprintf("%08x-0000-4000-8000-000000000000", g.Uint32())
	case 17:
		return []any{jsonObject{"x": g.IntN(10)}, nil}
	}
	return fmt.Sprintf("text %d", g.IntN(1000))
}

// addDeploy adds deploy.json and the accounts. The account chief has all permissions. The account
// guest may read the first class and write its own objects of the second one.
func (g *generatedApp) addDeploy(roots []*generatedClass) {
	g.files["deploy.json"] = jsonObject{"namespace": "g",
		"globals": jsonObject{"plugins": jsonObject{
			"securedDataRepo": jsonObject{"options": jsonObject{"roleMap": jsonObject{roots[1].full(): jsonObject{"owner": jsonObject{"sids": []any{"$owner"}}}}}},
			"aclProvider":     jsonObject{"module": "core/impl/access/aclMetaMap", "options": jsonObject{"map": jsonObject{roots[0].full(): jsonObject{"isEntry": true, "sidAttribute": "owner", "jumps": []any{"ref"}}}}}}},
		"modules": jsonObject{"rest": jsonObject{"globals": jsonObject{
			"di":       jsonObject{"crud": jsonObject{"module": "builtin/crud"}, "meta": jsonObject{"module": "builtin/meta"}, "workflows": jsonObject{"module": "builtin/workflows"}},
			"authMode": jsonObject{"crud": "pwd", "meta": "pwd", "workflows": "pwd"}}}}}
	g.files["acl/roles.json"] = jsonObject{
		"users": []any{jsonObject{"id": "chief@oauth", "roles": []any{"admin"}}, jsonObject{"id": "guest@oauth", "roles": []any{"guest"}}},
		"roles": []any{jsonObject{"id": "admin", "permissions": jsonObject{"*": []any{"full"}}},
			jsonObject{"id": "guest", "permissions": jsonObject{"c:::" + roots[0].full(): []any{"read"}}},
			jsonObject{"id": "owner", "permissions": jsonObject{"c:::" + roots[1].full(): []any{"read", "write"}}}}}
}

func (g *generatedApp) addWorkflow(c *generatedClass) {
	g.files["workflows/life.wf.json"] = jsonObject{"name": "life", "wfClass": c.name, "startState": "young",
		"states": []any{jsonObject{"name": "young", "itemPermissions": []any{jsonObject{"role": "chief@oauth", "permissions": 7}}},
			jsonObject{"name": "old", "propertyPermissions": []any{jsonObject{"property": "number", "permissions": []any{}}}}},
		"transitions": []any{jsonObject{"name": "age", "startState": "young", "finishState": "old", "roles": []any{"chief@oauth"},
			"conditions": jsonObject{"ne": []any{"$name", "never"}}, "assignments": []any{jsonObject{"key": "name", "value": "aged"}}}}}
}

// at returns an object inside of a file.
func (g *generatedApp) at(file string, path ...string) jsonObject {
	o, _ := g.files[file].(jsonObject)
	for _, name := range path {
		o, _ = o[name].(jsonObject)
	}
	return o
}

// write writes the files of the application to a folder.
func (g *generatedApp) write(t *testing.T, dir string) {
	t.Helper()
	k := &keeper{T: t, dir: dir}
	for name, v := range g.files {
		text, raw := v.(rawText)
		if !raw {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			text = rawText(b)
		}
		k.write(filepath.FromSlash(name), string(text))
	}
}
