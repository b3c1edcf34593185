package guard

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// guardOwners loads the members of collections with conditions that use an attribute of the owner. The attribute is
// hidden from the account.
func guardOwners(t *testing.T, open storetest.Open) {
	b := storetest.OpenBoxes(t, open)
	b.Limit(t, `[{"property":"kind","operation":0,"value":["$kind"]}]`)
	storetest.Create(t, b, b.Thing, "id", "t", "kind", "a", "box", "1", "code", "c")
	storetest.Create(t, b, b.Box, "id", "1", "kind", "a", "code", "c", "linked", storetest.AddLinks("t"))
	for _, name := range storetest.BoxCollections {
		storetest.CheckSame(t, name, storetest.ListMembers(t, b, b.Box, "1", name), []string{"t"})
		for _, hidden := range []*engine.Class{b.Box, b.Thing} {
			r := storetest.WithGuard(b, new(storetest.Rules).Hide(engine.MayRead, hidden, "kind"))
			storetest.CheckSame(t, name+" without kind of "+hidden.Name, storetest.ListMembers(t, r, b.Box, "1", name), []string{})
		}
	}
}
