// Package suite runs the conformance suite of engine.Repository. The tests use only this interface and check the
// behaviour that every implementation must have. Each implementation calls Run in its own tests. Tests for a single
// database belong to the package of that database.
package suite

import (
	"slices"
	"testing"

	"restsrv/engine/store/storetest"
	"restsrv/engine/store/storetest/guard"
	"restsrv/engine/store/storetest/journal"
	"restsrv/engine/store/storetest/read"
	"restsrv/engine/store/storetest/write"
)

// Run runs the groups of tests in only, or all groups if only is empty.
func Run(t *testing.T, open storetest.Open, only ...string) {
	for _, g := range slices.Concat(read.Groups(), write.Groups(), guard.Groups(), journal.Groups()) {
		if len(only) > 0 && !slices.Contains(only, g.Name) {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			for _, test := range g.Tests {
				t.Run(test.Name, func(t *testing.T) { test.Run(t, open) })
			}
		})
	}
}
