package deploy

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// wiring lists the settings that configure the server instead of the application: the
// address of the database and the options of services, plug-ins, gateways and jobs.
// Scripts cannot read them, since they may contain passwords and client secrets.
var wiring = []string{"db", "di", "jobs", "plugins"}

// collectValues collects the settings by name for use in scripts. A member of globals has its
// own name, and a member of modules.m.globals is prefixed with m and a dot. The
// settings in wiring are left out.
func (l *loader) collectValues(globals, modules jsonfile.Object) {
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
