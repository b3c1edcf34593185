package deploy

import (
	"regexp"
	"strconv"
	"sync"
	"time"

	"restsrv/engine/jsonfile"
)

// readScripts reads the setting scripts: the resources outside of the application that scripts can
// use.
func (l *loader) readScripts(o jsonfile.Object) {
	in, ok := o.Child("scripts")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"nodeModules", "env", "fetch"})
	s := &l.config.Scripts
	s.NodeModules = in.Flag("nodeModules", false)
	s.Env = readNames(in, "env", "the names of variables", func(name string) bool { return name != "" })
	fetch, ok := in.Child("fetch")
	if !ok {
		return
	}
	fetch.WarnRepeated()
	fetch.WarnUnknown([]string{"hosts", "private", "timeout", "maxBytes"})
	s.FetchHosts = readNames(fetch, "hosts", `hosts, such as "api.example.com", "*.example.com", "example.com:8443", or "*" for all`, isHost)
	s.FetchPrivate = fetch.Flag("private", false)
	s.FetchTimeout = readSeconds(fetch, "timeout", time.Millisecond, 0)
	if n, ok := fetch.Whole("maxBytes", 1, 1<<30); ok {
		s.FetchBytes = n
	}
}

// readNames reads an array of texts. It adds a fault for each element that is not valid and skips
// it.
func readNames(o jsonfile.Object, name, expected string, valid func(string) bool) []string {
	var all []string
	for i, v := range o.List(name) {
		text, ok := v.(string)
		if !ok || !valid(text) {
			o.Fault(jsonfile.Element(o.At(name), i), jsonfile.Describe(v), expected)
			continue
		}
		all = append(all, text)
	}
	return all
}

// fetchHost matches a host with an optional port, *.domain for all subdomains, or *. It is compiled
// on first use, since compiling is slow and few applications use it.
var fetchHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\*|(?:\*\.)?[\pL\pN_-]+(?:\.[\pL\pN_-]+)*\.?(?::(\d{1,5}))?|\[[0-9a-fA-F:.]+\](?::(\d{1,5}))?|[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*)$`)
})

// isHost reports whether s is a valid element of scripts.fetch.hosts.
func isHost(s string) bool {
	m := fetchHost().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	if digits := m[1] + m[2]; digits != "" {
		port, _ := strconv.Atoi(digits)
		return port >= 1 && port <= 65535
	}
	return true
}
