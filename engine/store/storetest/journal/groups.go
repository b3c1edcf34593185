// Package journal contains the tests of the conformance suite for the journal of changes. With its function Journaled,
// all other tests check the journal too.
package journal

import "restsrv/engine/store/storetest"

// Groups returns the groups of tests of this package.
func Groups() []storetest.Group {
	return []storetest.Group{
		{Name: "journal", Tests: journalTests},
	}
}
