package platform

import "testing"

// TestModulesStandOnce: no module is in two lists, because only one of the two would be used.
func TestModulesStandOnce(t *testing.T) {
	lists := map[string]int{}
	for i, list := range moduleLists() {
		for name := range list {
			if other, there := lists[name]; there {
				t.Errorf("%s is in two lists, %d and %d", name, other, i)
			}
			lists[name] = i
		}
	}
	for name := range spellingTable {
		if _, there := lists[name]; there {
			t.Errorf("%s is a module and also a spelling of another module", name)
		}
	}
}
