package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// adminPassword is that of the administrator of the throw-away database.
const adminPassword = "benchmark-only"

// authLine is the header line that signs the administrator in.
func authLine() string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin@local:"+adminPassword)) + "\r\n"
}

const helloScript = `module.exports = {
  'GET /': async (req) => ({ message: 'hello, ' + (req.query.name || 'world') })
};
`

const queryScript = `module.exports = {
  'GET /': async (req) => dataRepo.getList('note@bench', {
    filter: { eq: ['$group', req.query.group] },
    count: 20
  })
};
`

type object = map[string]any

// newRestsrv writes an application with one class, the benchmark's services and
// extra further classes into dir and returns the program that serves it.
func newRestsrv(dir, binary string, n *counters, extra int) (*program, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"hello.js": helloScript, "query.js": queryScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	config := filepath.Join(dir, "deploy.json")
	return &program{
		name: "restsrv", dir: dir, path: binary, ready: "/rest/static", numbers: n,
		command: func(addr, sync string) (args, env []string, err error) {
			text, err := json.MarshalIndent(deployment(sync, extra), "", "  ")
			if err != nil {
				return nil, nil, err
			}
			args = []string{"-config", config, "-addr", addr}
			return args, []string{"RESTSRV_ADMIN_PASSWORD=" + adminPassword}, os.WriteFile(config, text, 0o600)
		},
	}, nil
}

// deployment is the deploy.json of the benchmark's application.
func deployment(sync string, extra int) object {
	classes := []object{class("note")}
	for i := range extra {
		classes = append(classes, class(fmt.Sprintf("note%d", i)))
	}
	repositories := object{"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}
	return object{
		"globals": object{"db": object{"url": "sqlite:bench.db", "synchronous": sync}},
		"classes": classes,
		"modules": object{"rest": object{"globals": object{
			"di": object{
				"static":   object{"module": "builtin/echo"},
				"crud":     object{"module": "builtin/crud"},
				"signed":   object{"module": "builtin/crud"},
				"acceptor": object{"module": "builtin/acceptor", "options": repositories},
				"hello":    object{"module": "hello.js"},
				"query":    object{"module": "query.js"},
			},
			"authMode": object{"static": "none", "crud": "none", "hello": "none", "query": "none"},
		}}},
	}
}

// class is the floor's table as a class: a key and three texts, one of them
// indexed.
func class(name string) object {
	return object{
		"name": name, "namespace": "bench", "caption": "Note", "key": []string{"id"},
		"properties": []object{
			{"name": "id", "type": 12, "caption": "Identifier"},
			{"name": "title", "type": 0, "caption": "Title", "nullable": true},
			{"name": "group", "type": 0, "caption": "Group", "nullable": true, "indexed": true},
			{"name": "body", "type": 1, "caption": "Body", "nullable": true},
		},
	}
}

// newFloor returns the floor as a program that keeps its table in dir.
func newFloor(dir, binary, name string, n *counters) (*program, error) {
	return &program{
		name: name, dir: dir, path: binary, ready: "/rest/static", numbers: n,
		command: func(addr, sync string) (args, env []string, err error) {
			return []string{"-addr", addr, "-db", name + ".db", "-synchronous", sync}, nil, nil
		},
	}, os.MkdirAll(dir, 0o700)
}
