package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// adminPassword is the password of all accounts in the temporary databases.
const adminPassword = "benchmark-only"

// authLine returns the header line with the credentials of the administrator.
func authLine() string {
	return basicLine("admin@local")
}

type object = map[string]any

// newRestsrv fills in the fields of g so that it runs restsrv, and returns it. The application has
// the classes and services of the benchmark and the additional ones in more.
func newRestsrv(g program, more further) (*program, error) {
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return nil, err
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	address, err := g.db.fresh(g.dir)
	if err != nil {
		return nil, err
	}
	g.address = address
	url := address
	if !isPostgres(url) {
		url = "sqlite:" + url
	}
	config := filepath.Join(g.dir, "deploy.json")
	p := &g
	p.ready, p.classes, p.prepare = "/rest/static", true, addAccounts
	p.command = func(addr, sync string) (args, env []string, err error) {
		text, err := json.MarshalIndent(deployConfig(url, sync, more), "", "  ")
		if err != nil {
			return nil, nil, err
		}
		return []string{"-config", config, "-addr", addr}, []string{"RESTSRV_ADMIN_PASSWORD=" + adminPassword}, os.WriteFile(config, text, 0o600)
	}
	return p, nil
}

// ownClasses is the number of classes in the benchmark's application.
const ownClasses = 4

// further is the number of additional classes and services, which are not measured.
type further struct{ classes, services int }

// deployConfig returns the deploy.json of the benchmark's application.
func deployConfig(url, sync string, more further) object {
	classes := []object{classConfig("note"), classConfig("author"), classConfig("topic"), classConfig("entry", "author", "topic")}
	for i := range more.classes {
		classes = append(classes, classConfig(fmt.Sprintf("note%d", i)))
	}
	di := serviceConfig()
	for i := range more.services {
		di[fmt.Sprintf("copy%d", i)] = object{"module": "usual.js"}
	}
	return object{
		"globals": object{"db": object{"url": url, "synchronous": sync}, "plugins": pluginConfig()},
		"classes": classes,
		"modules": object{"rest": object{"globals": object{
			"di": di,
			"authMode": object{"static": "none", "crud": "none", "hello": "none", "greet": "none", "query": "none", "order": "none", "labels": "none",
				"tokened": "token", "bearer": "oauth"},
		}}},
	}
}

// serviceConfig returns the configuration of the measured services.
func serviceConfig() object {
	repositories := object{"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}
	return object{
		"static":   object{"module": "builtin/echo"},
		"crud":     object{"module": "builtin/crud"},
		"signed":   object{"module": "builtin/crud"},
		"tokened":  object{"module": "builtin/crud"},
		"bearer":   object{"module": "builtin/crud"},
		"acceptor": object{"module": "builtin/acceptor", "options": repositories},
		"hello":    object{"module": "hello.js"},
		"greet":    object{"module": "greet.js"},
		"query":    object{"module": "query.js"},
		"order":    object{"module": "order.js"},
		"labels":   object{"module": "labels.js"},
	}
}

// classConfig returns a class with the columns of the floor's table: a key and three texts, of
// which group is indexed. The class also gets a reference to each class in references, named after
// that class.
func classConfig(name string, references ...string) object {
	properties := []object{
		{"name": "id", "type": 12, "caption": "Identifier"},
		{"name": "title", "type": 0, "caption": "Title", "nullable": true},
		{"name": "group", "type": 0, "caption": "Group", "nullable": true, "indexed": true},
		{"name": "body", "type": 1, "caption": "Body", "nullable": true},
	}
	for _, r := range references {
		properties = append(properties, object{"name": r, "type": 13, "refClass": r + "@bench", "caption": r, "nullable": true})
	}
	return object{"name": name, "namespace": "bench", "caption": "Note", "key": []string{"id"}, "properties": properties}
}

// newFloor fills in the fields of g so that it runs the floor, and returns it.
func newFloor(g program) (*program, error) {
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return nil, err
	}
	address, err := g.db.fresh(g.dir)
	g.address, g.ready = address, "/rest/static"
	g.command = func(addr, sync string) (args, env []string, err error) {
		return []string{"-addr", addr, "-db", address, "-synchronous", sync}, nil, nil
	}
	return &g, err
}
