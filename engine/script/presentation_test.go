package script

import (
	"testing"

	"restsrv/engine/script/limits"
)

// TestNoPresentation checks the error of the methods for the presentation if
// there is none.
func TestNoPresentation(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	expect(t, a.as("bob@local", `try { metaRepo.getNodes() } catch (e) { return [e.code, e.message] }`),
		`["not-supported","metaRepo.getNodes is not supported: there is no application here whose presentation is known"]`)
}
