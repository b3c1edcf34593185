package platform

import (
	"slices"
	"strings"
)

// patch fixes a built-in of goja or adds one that goja does not have. A VM installs the patch when it loads a source
// text that contains one of the words.
type patch struct {
	name    string
	words   []string // strings to search for; each text that needs the patch contains at least one of them
	install func(p *Platform)
}

// patches returns all patches, at most 64. A patch may use the patches that precede it.
func patches() []patch {
	return polyfills()
}

var patchTable = patches()

// symbolPatch is the patch that adds the symbol asyncIterator.
var symbolPatch = needs(1) << slices.IndexFunc(patchTable, func(p patch) bool { return p.name == "symbols" })

// needs is a set of patches: bit i stands for patchTable[i].
type needs uint64

// Needs is the set of patches that a source text needs.
type Needs struct{ set needs }

// NeedsOf returns the patches whose words occur in a source text. The parameter all means that the text can compile
// code at run time, as with eval. Such code may need any patch, so NeedsOf then returns all patches.
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

// Patch installs those patches in n that are not installed yet.
func (p *Platform) Patch(n Needs) {
	for i, one := range patchTable {
		bit := needs(1) << i
		if n.set&bit != 0 && p.patched&bit == 0 {
			p.patched |= bit
			one.install(p)
		}
	}
}
