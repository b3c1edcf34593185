package platform

import "testing"

// A module stands in one list: else one of two would never be found.
func TestModulesStandOnce(t *testing.T) {
	lists := map[string]int{}
	for i, list := range moduleLists() {
		for name := range list {
			if other, there := lists[name]; there {
				t.Errorf("%s is in the lists %d and %d", name, other, i)
			}
			lists[name] = i
		}
	}
	for name := range spellingTable {
		if _, there := lists[name]; there {
			t.Errorf("%s is a module, and another spelling of one", name)
		}
	}
}
