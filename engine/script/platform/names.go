package platform

import (
	"slices"
	"strings"
)

// ModuleNames returns the sorted names of the built-in modules that scripts may require.
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
