// Package journal holds the tests of the conformance suite that check the journal of changes. With Journaled, all other
// tests check it too.
package journal

import "restsrv/engine/store/storetest"

// Groups returns the groups of tests of this package.
func Groups() []storetest.Group {
	return []storetest.Group{
		{Name: "journal", Tests: journalTests},
	}
}
