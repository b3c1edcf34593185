package platform

import (
	"slices"
	"strings"
)

// patch mends or adds a built-in of the engine, in the VMs that load a source
// text which may need it.
type patch struct {
	name    string
	words   []string // one of which such a text holds; plain texts are found fast
	install func(p *Platform)
}

// patches lists them; at most 64, in an order that each may rely on.
func patches() []patch {
	return polyfills()
}

var patchTable = patches()

// needs is a set of patches, by their place in the list.
type needs uint64

// Needs is what a source text needs of the list; it depends on the text alone.
type Needs struct{ set needs }

// NeedsOf looks for words of the patches in a source text. All says that the
// text makes code at run time, which may name anything.
func NeedsOf(text string, all bool) Needs {
	var n Needs
	for i, p := range patchTable {
		if all || p.needed(text) {
			n.set |= 1 << i
		}
	}
	return n
}

func (p *patch) needed(text string) bool {
	return slices.ContainsFunc(p.words, func(w string) bool { return strings.Contains(text, w) })
}

// Patch installs what is needed and not there yet.
func (p *Platform) Patch(n Needs) {
	for i, one := range patchTable {
		bit := needs(1) << i
		if n.set&bit != 0 && p.patched&bit == 0 {
			p.patched |= bit
			one.install(p)
		}
	}
}
