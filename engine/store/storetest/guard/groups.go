// Package guard contains the tests of the conformance suite for reads and writes with the permissions of an account.
package guard

import (
	"slices"

	"restsrv/engine/store/storetest"
)

// Groups returns the groups of tests of this package.
func Groups() []storetest.Group {
	return []storetest.Group{
		{Name: "grants", Tests: grantTests},
		{Name: "guard", Tests: slices.Concat(guardTests, guardWriteTests, guardOracleTests, guardFormulaTests, guardKeptTests)},
	}
}
