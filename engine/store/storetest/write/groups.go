// Package write contains the tests of the conformance suite for writes: items, links, several records at once,
// transactions, imports, files and concurrent changes.
package write

import "restsrv/engine/store/storetest"

// Groups returns the groups of tests of this package.
func Groups() []storetest.Group {
	return []storetest.Group{
		{Name: "entries of indexes", Tests: entryTests},
		{Name: "create", Tests: createTests},
		{Name: "update", Tests: updateTests},
		{Name: "save", Tests: saveTests},
		{Name: "order", Tests: orderTests},
		{Name: "inheritance", Tests: treeTests},
		{Name: "trees", Tests: redeclaredTests},
		{Name: "nested records", Tests: nestedTests},
		{Name: "collections", Tests: collectionTests},
		{Name: "changed keys", Tests: rekeyTests},
		{Name: "all that a filter finds", Tests: allTests},
		{Name: "numbers", Tests: numberTests},
		{Name: "trackers", Tests: trackerTests},
		{Name: "archive", Tests: archiveTests},
		{Name: "files", Tests: fileTests},
		{Name: "stages", Tests: stageTests},
		{Name: "concurrency", Tests: concurrencyTests},
		{Name: "transactions", Tests: transactionTests},
		{Name: "races", Tests: raceTests},
	}
}
