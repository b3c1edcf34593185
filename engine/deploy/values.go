package deploy

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// wiring lists settings that configure the server instead of the application: the database address,
// and the options of services, plug-ins, gateways and jobs. Scripts cannot read them, since they
// may contain passwords and client secrets.
var wiring = []string{"db", "di", "jobs", "plugins"}

// collectValues collects the settings that scripts can read. A field name of globals becomes the
// setting name. A field name of modules.shop.globals becomes the setting shop.name. The settings in
// wiring are left out.
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
