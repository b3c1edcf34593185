package platform

import (
	"slices"
	"strings"
)

// ModuleNames lists the built-in modules that scripts may ask for, sorted.
func ModuleNames() []string {
	names := make([]string, 0, len(moduleTable))
	for name := range moduleTable {
		if !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
