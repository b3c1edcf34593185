package deploy

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// given is a setting that the files contain: its JSON path in the merged configuration, and its
// value.
type given struct {
	path  string
	value any
}

// Origin returns the file and the line of a setting, such as "addr" or "signIn.perAccount". file is
// "" if the default applies. line is 0 if the file cannot be read any more.
func (c *Config) Origin(name string) (file string, line int) {
	top, rest, inner := strings.Cut(name, ".")
	g, ok := c.given[top]
	for ok && inner {
		fields, is := g.value.(engine.Fields)
		if !is {
			return "", 0 // a short form, such as "audit": true, does not set its members
		}
		name := rest
		if g.value, ok = fields.Get(rest); ok {
			inner = false // the rest is one name; names of services may contain dots
		} else {
			name, rest, inner = strings.Cut(rest, ".")
			g.value, ok = fields.Get(name)
		}
		g.path = jsonfile.Member(g.path, name)
	}
	if !ok || g.value == nil {
		return "", 0
	}
	at := c.Locate(engine.Faults{{File: c.File, Path: g.path}})[0]
	return at.File, at.Line
}
