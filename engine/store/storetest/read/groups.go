// Package read contains the tests of the conformance suite for reads: queries, filters, sort orders, loaded relations,
// searches, formulas and the values of all types. A test that checks changes belongs to package write, even if it
// reads their results.
package read

import "restsrv/engine/store/storetest"

// Groups returns the groups of tests of this package.
func Groups() []storetest.Group {
	return []storetest.Group{
		{Name: "values", Tests: valueTests},
		{Name: "list", Tests: listTests},
		{Name: "filter", Tests: filterTests},
		{Name: "loading", Tests: loadTests},
		{Name: "paths", Tests: pathTests},
		{Name: "expressions", Tests: expressionTests},
		{Name: "keysets", Tests: keysetTests},
		{Name: "search", Tests: searchTests},
		{Name: "aggregation", Tests: aggregateTests},
		{Name: "formulas", Tests: calculateTests},
		{Name: "moments", Tests: momentTests},
	}
}
