package deploy

import (
	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// values collects what the file says by name, for scripts: members of globals
// go by their names, those of modules.m.globals have m and a dot before them.
// Where the database is, which may have a password in it, is left out.
func (l *loader) values(globals, modules jsonfile.Object) {
	for _, f := range globals.Fields {
		if f.Name != "db" {
			l.config.Values = append(l.config.Values, f)
		}
	}
	for _, m := range modules.Fields {
		module, _ := m.Value.(engine.Fields)
		inner, _ := module.Get("globals")
		fields, _ := inner.(engine.Fields)
		for _, f := range fields {
			l.config.Values = append(l.config.Values, engine.Field{Name: m.Name + "." + f.Name, Value: f.Value})
		}
	}
}
