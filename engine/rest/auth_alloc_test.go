//go:build !race

// This file is not built with the race detector. The detector makes sync.Pool drop objects, which
// changes the number of allocations.

package rest

import (
	"testing"

	"restsrv/engine"
)

// TestAuthenticationAllocates checks that reading credentials allocates only
// the decoded text of Basic authentication.
func TestAuthenticationAllocates(t *testing.T) {
	most := map[string]float64{"Basic": 2, "Token": 1, "OAuth2": 1}
	newProving(t).remembered(t, func(name string, prove func() (*engine.Account, error)) {
		got := testing.AllocsPerRun(200, func() {
			if _, err := prove(); err != nil {
				t.Fatal(err)
			}
		})
		if got > most[name] {
			t.Errorf("%s: %v allocations, expected %v", name, got, most[name])
		}
	})
}
