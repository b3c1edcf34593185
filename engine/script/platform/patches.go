package platform

import (
	"slices"
	"strings"
)

// patch fixes or adds a built-in of the engine. It is installed in VMs that load a source text with one of its
// words.
type patch struct {
	name    string
	words   []string // strings to search for; a text that needs the patch contains at least one
	install func(p *Platform)
}

// patches returns all patches, at most 64. A patch may use the patches before it.
func patches() []patch {
	return polyfills()
}

var patchTable = patches()

// needs is a bit set of patches, by their index in the list.
type needs uint64

// Needs is the set of patches that a source text needs. It depends on the text alone.
type Needs struct{ set needs }

// NeedsOf searches a source text for the words of the patches. If all is set, the text compiles code at run time and
// needs all patches.
func NeedsOf(text string, all bool) Needs {
	var n Needs
	for i, p := range patchTable {
		if all || p.neededBy(text) {
			n.set |= 1 << i
		}
	}
	return n
}

func (p *patch) neededBy(text string) bool {
	return slices.ContainsFunc(p.words, func(w string) bool { return strings.Contains(text, w) })
}

// Patch installs the patches in n that are not installed yet.
func (p *Platform) Patch(n Needs) {
	for i, one := range patchTable {
		bit := needs(1) << i
		if n.set&bit != 0 && p.patched&bit == 0 {
			p.patched |= bit
			one.install(p)
		}
	}
}
