package script

import "testing"

// Where no presentation is known, what would tell of it says so.
func TestNoPresentation(t *testing.T) {
	a := newApp(t, Limits{}, false)
	expect(t, a.as("bob@local", `try { metaRepo.getNodes() } catch (e) { return [e.code, e.message] }`),
		`["not-supported","metaRepo.getNodes is not supported: there is no application here whose presentation is known"]`)
}
