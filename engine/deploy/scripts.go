package deploy

import (
	"time"

	"restsrv/engine/jsonfile"
)

// scripts reads what scripts may reach outside of the application.
func (l *loader) scripts(o jsonfile.Object) {
	in, ok := o.Child("scripts")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"nodeModules", "env", "fetch"})
	s := &l.config.Scripts
	s.NodeModules = in.Flag("nodeModules", false)
	s.Env = names(in, "env", "the names of variables")
	fetch, ok := in.Child("fetch")
	if !ok {
		return
	}
	fetch.WarnRepeated()
	fetch.WarnUnknown([]string{"hosts", "private", "timeout", "maxBytes"})
	s.FetchHosts = names(fetch, "hosts", `hosts, such as "api.example.com", "*.example.com" or "example.com:8443"`)
	s.FetchPrivate = fetch.Flag("private", false)
	s.FetchTimeout = seconds(fetch, "timeout", time.Millisecond, 0)
	if n, ok := fetch.Whole("maxBytes", 1, 1<<30); ok {
		s.FetchBytes = n
	}
}

// names reads a list of texts.
func names(o jsonfile.Object, name, expected string) []string {
	var all []string
	for i, v := range o.List(name) {
		text, ok := v.(string)
		if !ok || text == "" {
			o.Fault(jsonfile.Element(o.At(name), i), jsonfile.Describe(v), expected)
			continue
		}
		all = append(all, text)
	}
	return all
}
