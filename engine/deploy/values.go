package deploy

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// wiring is what the file says of how the server is put together rather than of
// the application: where the database is, and the options of services, plugins,
// gateways and jobs. There may be passwords and secrets of clients in it.
var wiring = []string{"db", "di", "jobs", "plugins"}

// values collects what the file says by name, for scripts: members of globals
// go by their names, those of modules.m.globals have m and a dot before them.
// The wiring is left out.
func (l *loader) values(globals, modules jsonfile.Object) {
	add := func(before string, fields engine.Fields) {
		for _, f := range fields {
			if !slices.Contains(wiring, f.Name) {
				l.config.Values = append(l.config.Values, engine.Field{Name: before + f.Name, Value: f.Value})
			}
		}
	}
	add("", globals.Fields)
	for _, m := range modules.Fields {
		module, _ := m.Value.(engine.Fields)
		inner, _ := module.Get("globals")
		fields, _ := inner.(engine.Fields)
		add(m.Name+".", fields)
	}
}
