package deploy

import (
	"os"
	"path/filepath"
	"sort"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// placer returns the places of paths in a file, and of what is around them.
type placer func(paths []string) jsonfile.Places

// Locate fills in file, line and column of faults that have a JSON path only,
// and puts the faults of each file in its order. It reads the files of these
// again, below Dir; one that has changed or gone leaves its faults as they are.
func (c *Config) Locate(faults engine.Faults) engine.Faults {
	located := append(engine.Faults(nil), faults...)
	c.trace(located)
	arrange(located, func(file string) placer {
		name := filepath.FromSlash(file)
		if !filepath.IsLocal(name) {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(c.Dir, name))
		if err != nil {
			return nil
		}
		_, places, _ := decode(file, data) // malformed files have no places
		return places
	})
	return located
}

// arrange gives faults that lack it their place, and sorts all by it, files in
// the order in which they come up. A file that open returns nil of has no places.
func arrange(faults engine.Faults, open func(file string) placer) {
	rank := make(map[string]int)
	lacking := make(map[string][]string)
	for _, f := range faults {
		if _, ok := rank[f.File]; !ok {
			rank[f.File] = len(rank)
		}
		if f.Line == 0 && f.Path != "" {
			lacking[f.File] = append(lacking[f.File], f.Path)
		}
	}
	files := make(map[string]jsonfile.Places)
	for file, paths := range lacking {
		if places := open(file); places != nil {
			files[file] = places(paths)
		}
	}
	for i, f := range faults {
		if p := files[f.File]; f.Line == 0 && f.Path != "" && p != nil {
			at := p.Of(f.Path)
			faults[i].Line, faults[i].Column = at.Line, at.Column
		}
	}
	sort.SliceStable(faults, func(i, j int) bool {
		a, b := faults[i], faults[j]
		switch {
		case rank[a.File] != rank[b.File]:
			return rank[a.File] < rank[b.File]
		case a.Line != b.Line:
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}
