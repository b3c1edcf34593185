//go:build !race

// Under the race detector pools drop what they are given, so that allocations
// say nothing.

package rest

import (
	"testing"

	"restsrv/engine"
)

// TestAuthenticationAllocates: what Basic has is decoded, nothing else is made.
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
