package mistakes

// plantedMistake is a mistake that can be added to a generated application. plant adds a
// definition with the mistake, and returns the file that the report must name. It returns "" if
// the application cannot have this mistake.
type plantedMistake struct {
	code  string
	plant func(g *generatedApp) (file string)
}

// inClass changes a random class.
func inClass(code string, change func(g *generatedApp, c, other *generatedClass)) plantedMistake {
	return plantedMistake{code, func(g *generatedApp) string {
		c := g.classes[g.IntN(len(g.classes))]
		change(g, c, g.classes[g.IntN(len(g.classes))].root())
		return c.path()
	}}
}

// withAttribute adds an attribute with a new name to a random class. The text "other" in the
// fields is replaced by the name of another class.
func withAttribute(code string, fields jsonObject) plantedMistake {
	return inClass(code, func(g *generatedApp, c, other *generatedClass) {
		a := jsonObject{"name": g.newName("x"), "nullable": true}
		for name, v := range fields {
			if v == "OTHER" {
				v = other.name
			}
			a[name] = v
		}
		c.add(a)
	})
}

// withElement adds an element to an array of a random class.
func withElement(code, field string, element any) plantedMistake {
	return inClass(code, func(_ *generatedApp, c, _ *generatedClass) {
		list, _ := c.file[field].([]any)
		c.file[field] = append(list, element)
	})
}

// withFile adds a file. The text NAME in the file is replaced by a new name.
func withFile(code, folder, ending string, make func(g *generatedApp, name string) any) plantedMistake {
	return plantedMistake{code, func(g *generatedApp) string {
		name := g.newName("new")
		file := folder + "/" + name + ending
		g.files[file] = make(g, name)
		return file
	}}
}

// withClass adds a class with a new name.
func withClass(code string, fields jsonObject) plantedMistake {
	return withFile(code, "meta", ".class.json", func(_ *generatedApp, name string) any {
		c := jsonObject{"name": name, "key": []any{"id"}, "properties": []any{jsonObject{"name": "id", "type": 0}}}
		for field, v := range fields {
			if c[field] = v; v == nil {
				delete(c, field)
			}
		}
		return c
	})
}

// withDeploy adds an entry to an object in deploy.json.
func withDeploy(code string, value any, path ...string) plantedMistake {
	return plantedMistake{code, func(g *generatedApp) string {
		g.at("deploy.json", path...)[g.newName("new")] = value
		return "deploy.json"
	}}
}

// withState adds a state to the workflow, and withTransition a transition.
func withState(code string, state any) plantedMistake { return inWorkflow(code, "states", state) }

func withTransition(code string, transition any) plantedMistake {
	return inWorkflow(code, "transitions", transition)
}

func inWorkflow(code, field string, v any) plantedMistake {
	return plantedMistake{code, func(g *generatedApp) string {
		const file = "workflows/life.wf.json"
		o := g.at(file)
		list, _ := o[field].([]any)
		if named, ok := v.(jsonObject); ok && named["name"] == "NEW" {
			o := jsonObject{}
			for name, value := range named {
				o[name] = value
			}
			o["name"] = g.newName("s")
			v = o
		}
		o[field] = append(list, v)
		return file
	}}
}

// withObject adds an object of the class, or of a random class if class is "".
func withObject(code, class string, fields jsonObject) plantedMistake {
	return plantedMistake{code, func(g *generatedApp) string {
		name, c := g.newName("object"), class
		if c == "" {
			c = g.classes[g.IntN(len(g.classes))].name
		}
		o := jsonObject{"id": name}
		for field, v := range fields {
			o[field] = v
		}
		file := "data/" + c + "@g@" + name + ".json"
		g.files[file] = o
		return file
	}}
}

func list(v ...any) []any { return v }

// plantedMistakes contains a mistake for most rules. Each mistake adds a new definition, so that
// it cannot hide another mistake.
var plantedMistakes = []plantedMistake{
	withAttribute("type-unknown", jsonObject{"type": 99}),
	withAttribute("type-unknown", jsonObject{"type": "13"}),
	withAttribute("type-missing", jsonObject{}),
	withAttribute("attribute-name", jsonObject{"name": "_id", "type": 0}),
	withAttribute("attribute-name", jsonObject{"name": "a.b", "type": 0}),
	withAttribute("not-flag", jsonObject{"type": 0, "indexSearch": "no"}),
	withAttribute("not-number", jsonObject{"type": 0, "size": "long"}),
	withAttribute("not-text", jsonObject{"type": 0, "caption": jsonObject{"en": "x"}}),
	withAttribute("order-fraction", jsonObject{"type": 0, "orderNumber": 1.5}),
	withAttribute("autoassigned-type", jsonObject{"type": 18, "autoassigned": true}),
	withAttribute("structure-class", jsonObject{"type": 16, "refClass": "nosuch"}),
	withAttribute("structure-class", jsonObject{"type": 16}),
	withAttribute("reference-class", jsonObject{"type": 13, "refClass": "nosuch"}),
	withAttribute("reference-class", jsonObject{"type": 13, "refClass": 5}),
	withAttribute("collection-class", jsonObject{"type": 14, "itemsClass": "nosuch"}),
	withAttribute("collection-class-backref", jsonObject{"type": 14, "itemsClass": "nosuch", "backRef": "ref"}),
	withAttribute("backref-unknown", jsonObject{"type": 14, "itemsClass": "OTHER", "backRef": "nosuch"}),
	withAttribute("backref-type", jsonObject{"type": 14, "itemsClass": "OTHER", "backRef": "made"}),
	withAttribute("binding-unknown", jsonObject{"type": 14, "itemsClass": "OTHER", "backRef": "name", "binding": "nosuch"}),
	withAttribute("other-side-unknown", jsonObject{"type": 14, "itemsClass": "OTHER", "backColl": "nosuch"}),
	withAttribute("other-side-type", jsonObject{"type": 14, "itemsClass": "OTHER", "backColl": "name"}),
	withAttribute("subclass-unknown", jsonObject{"type": 13, "refClass": "OTHER", "allowedSubclasses": list("nosuch")}),
	withAttribute("default-value", jsonObject{"type": 6, "defaultValue": "many"}),
	withAttribute("default-variable", jsonObject{"type": 0, "defaultValue": "$nosuch"}),
	withAttribute("formula-invalid", jsonObject{"type": 0, "formula": jsonObject{"nosuch": list()}}),
	withAttribute("formula-attribute", jsonObject{"type": 0, "formula": jsonObject{"concat": list("$nosuch", "$id")}}),
	withAttribute("selection-type", jsonObject{"type": 0, "selectionProvider": jsonObject{"type": "X"}}),
	withAttribute("selection-element", jsonObject{"type": 0, "selectionProvider": jsonObject{"type": "SIMPLE", "list": list("x")}}),
	withAttribute("selection-matrix", jsonObject{"type": 0, "selectionProvider": jsonObject{"type": "MATRIX"}}),
	withAttribute("sorting-attribute", jsonObject{"type": 14, "itemsClass": "OTHER", "selSorting": list(jsonObject{"property": "nosuch"})}),
	withAttribute("sorting-mode", jsonObject{"type": 14, "itemsClass": "OTHER", "selSorting": list(jsonObject{"property": "name", "mode": "up"})}),
	withAttribute("sorting-shape", jsonObject{"type": 14, "itemsClass": "OTHER", "selSorting": "name"}),
	withAttribute("conditions-attribute", jsonObject{"type": 14, "itemsClass": "OTHER", "selConditions": list(jsonObject{"property": "nosuch", "operation": 0, "value": list(1)})}),
	withAttribute("conditions-invalid", jsonObject{"type": 14, "itemsClass": "OTHER", "selConditions": list(jsonObject{"property": "name", "operation": 99, "value": list(1)})}),
	withAttribute("conditions-no-list", jsonObject{"type": 14, "itemsClass": "OTHER", "selConditions": jsonObject{"property": "name", "operation": 0, "value": list("x")}}),
	withElement("attribute-shape", "properties", nil),
	withElement("attribute-name", "properties", jsonObject{"type": 0}),
	withElement("index-unknown", "compositeIndexes", jsonObject{"properties": list("name", "nosuch")}),
	withElement("index-shape", "compositeIndexes", "name"),
	withElement("dependency-unknown", "cacheDependencies", "nowhere"),
	inClass("attribute-twice", func(g *generatedApp, c, _ *generatedClass) {
		name := g.newName("x")
		c.add(jsonObject{"name": name, "type": 6, "nullable": true})
		c.add(jsonObject{"name": name, "type": 0, "nullable": true})
	}),
	inClass("attribute-case", func(g *generatedApp, c, _ *generatedClass) {
		name := g.newName("x")
		c.add(jsonObject{"name": name, "type": 0, "nullable": true})
		c.add(jsonObject{"name": "X" + name[1:], "type": 0, "nullable": true})
	}),
	{"part-twice", func(g *generatedApp) string {
		c := g.classes[g.IntN(len(g.classes))].root()
		c.add(jsonObject{"name": "part$first", "type": 0, "nullable": true})
		return c.path()
	}},
	inClass("tracker-unknown", func(_ *generatedApp, c, _ *generatedClass) { c.file["changeTracker"] = "nosuch" }),
	inClass("tracker-account", func(_ *generatedApp, c, _ *generatedClass) { c.file["editorTracker"] = "nosuch" }),
	withClass("class-name", jsonObject{"name": nil}),
	withClass("ancestor-missing", jsonObject{"ancestor": "nosuch"}),
	withClass("key-missing", jsonObject{"key": nil}),
	withClass("key-unknown", jsonObject{"key": "nosuch"}),
	withClass("key-twice", jsonObject{"key": list("id", "id")}),
	withClass("key-type", jsonObject{"properties": list(jsonObject{"name": "id", "type": 17})}),
	withClass("key-text", jsonObject{"properties": list(jsonObject{"name": "id", "type": 1})}),
	withClass("key-real", jsonObject{"properties": list(jsonObject{"name": "id", "type": 7})}),
	withClass("key-calculated", jsonObject{"properties": list(jsonObject{"name": "id", "type": 0, "formula": jsonObject{"concat": list("x")}})}),
	withClass("properties-missing", jsonObject{"properties": nil}),
	withClass("semantic-formula", jsonObject{"semantic": jsonObject{"nosuch": list()}}),
	withFile("class-shape", "meta", ".class.json", func(*generatedApp, string) any { return list() }),
	withFile("ancestor-circle", "meta", ".class.json", func(_ *generatedApp, name string) any {
		return jsonObject{"name": name, "ancestor": name, "properties": list()}
	}),
	withFile("user-type", "meta/types", ".type.json", func(_ *generatedApp, name string) any { return jsonObject{"name": name, "type": "coins"} }),
	withFile("workflow-class-missing", "workflows", ".wf.json", func(_ *generatedApp, name string) any {
		return jsonObject{"name": name, "wfClass": "nosuch", "startState": "x", "states": list(), "transitions": list()}
	}),
	withFile("workflow-name", "workflows", ".wf.json", func(g *generatedApp, _ string) any {
		return jsonObject{"wfClass": g.classes[0].name, "startState": "x", "states": list(jsonObject{"name": "x"}), "transitions": list()}
	}),
	withFile("workflow-list-missing", "workflows", ".wf.json", func(g *generatedApp, name string) any {
		return jsonObject{"name": name, "wfClass": g.classes[0].name, "startState": "x", "states": list(jsonObject{"name": "x"})}
	}),
	withState("state-unnamed", jsonObject{"caption": "x"}),
	withState("state-condition", jsonObject{"name": "NEW", "conditions": jsonObject{"eq": list("$nosuch", 1)}, "itemPermissions": list(jsonObject{"role": "guest@oauth", "permissions": 31})}),
	withState("permission-role", jsonObject{"name": "NEW", "itemPermissions": list(jsonObject{"permissions": 31})}),
	withState("property-permissions", jsonObject{"name": "NEW", "propertyPermissions": 5}),
	withTransition("transition-unnamed", 5),
	withTransition("state-missing", jsonObject{"name": "NEW", "startState": "young", "finishState": "dead", "assignments": list()}),
	withTransition("transition-roles", jsonObject{"name": "NEW", "startState": "young", "finishState": "old", "roles": "guest@oauth", "assignments": list()}),
	withTransition("transition-condition", jsonObject{"name": "NEW", "startState": "young", "finishState": "old", "roles": list("guest@oauth"), "conditions": jsonObject{"eq": list("$nosuch", 1)}, "assignments": list()}),
	withTransition("assignment-attribute", jsonObject{"name": "NEW", "startState": "young", "finishState": "old", "roles": list("chief@oauth"), "assignments": list(jsonObject{"key": "nosuch", "value": 1})}),
	withTransition("assignment-value", jsonObject{"name": "NEW", "startState": "young", "finishState": "old", "assignments": list(jsonObject{"key": "number", "value": "many"})}),
	withFile("presentation-file", "navigation/main", ".json", func(*generatedApp, string) any { return list() }),
	withFile("presentation-file", "navigation/main", ".json", func(*generatedApp, string) any { return rawText(`{"code": `) }),
	withFile("view-part", "views/parts@g", "/list.json", func(*generatedApp, string) any { return jsonObject{"columns": list("name")} }),
	withDeploy("service-module", jsonObject{"module": "../out.js"}, "modules", "rest", "globals", "di"),
	withDeploy("service-module", jsonObject{"module": 5}, "modules", "rest", "globals", "di"),
	withDeploy("service-component", jsonObject{"module": "builtin/crud", "options": jsonObject{"dataRepo": "ion://nosuch"}}, "modules", "rest", "globals", "di"),
	withDeploy("service-options", jsonObject{"module": "builtin/crud", "options": jsonObject{"dataRepo": "ion://metaRepo"}}, "modules", "rest", "globals", "di"),
	withDeploy("service-repository", jsonObject{"module": "builtin/acceptor", "options": jsonObject{"metaRepo": "ion://metaRepo"}}, "modules", "rest", "globals", "di"),
	withDeploy("role-map-class", jsonObject{"owner": jsonObject{"sids": list("guest@oauth")}}, "globals", "plugins", "securedDataRepo", "options", "roleMap"),
	withDeploy("meta-map-class", jsonObject{"isEntry": true, "sidAttribute": "owner"}, "globals", "plugins", "aclProvider", "options", "map"),
	withDeploy("gateway", jsonObject{"module": "builtin/gateway", "options": jsonObject{"base": "api"}}, "globals", "plugins"),
	inRoleMap("role-map-role", jsonObject{"sids": list("guest@oauth"), "conditions": jsonObject{"eq": list("$nosuch", 1)}}),
	inRoleMap("role-map-sid", jsonObject{"sids": list(list("guest@oauth", "$nosuch"))}),
	withFile("acl-entry", "acl", ".json", func(*generatedApp, string) any {
		return jsonObject{"roles": list(jsonObject{"id": "guest2", "permissions": jsonObject{"*": list("fly")}})}
	}),
	withObject("object-class", "nosuch", nil),
	withObject("value-unknown", "", jsonObject{"nosuch": 1}),
	withObject("value-misfit", "", jsonObject{"number": "many"}),
	withFile("data-other", "data", ".txt", func(*generatedApp, string) any { return rawText("x") }),
	withFile("object-unreadable", "data", "@g@1.json", func(*generatedApp, string) any { return list() }),
}

// inRoleMap adds the role admin, which has all permissions, to the roles of a class.
func inRoleMap(code string, role jsonObject) plantedMistake {
	return plantedMistake{code, func(g *generatedApp) string {
		roles := g.at("deploy.json", "globals", "plugins", "securedDataRepo", "options", "roleMap")
		c := g.classes[len(g.classes)-1].root()
		of, _ := roles[c.full()].(jsonObject)
		if of == nil {
			of = jsonObject{}
			roles[c.full()] = of
		}
		if of["admin"] != nil {
			return "" // there is already another mistake
		}
		of["admin"] = role
		return "deploy.json"
	}}
}
