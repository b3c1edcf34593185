package platform

import "slices"

// ModuleNames lists the built-in modules, sorted.
func ModuleNames() []string {
	names := make([]string, 0, len(moduleTable))
	for name := range moduleTable {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
