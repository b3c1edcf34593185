package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// placer finds the line and column of JSON paths in a file. The result also has the places of the
// objects and arrays that contain these paths.
type placer func(paths []string) jsonfile.Places

// Locate adds line and column to faults, and sorts the faults of each file by position. For
// faults that have only a JSON path, Locate reads their file below Dir again. If the file cannot
// be read, these faults stay without a position.
func (c *Config) Locate(faults engine.Faults) engine.Faults {
	located := append(engine.Faults(nil), faults...)
	c.traceFaults(located)
	arrangeFaults(located, func(file string) placer {
		name := filepath.FromSlash(file)
		if !filepath.IsLocal(name) {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(c.Dir, name))
		if err != nil {
			return nil
		}
		_, places, _ := decode(file, data) // a malformed file has no places
		return places
	})
	return located
}

// malformed matches messages about malformed JSON and YAML that contain a position.
var malformed = regexp.MustCompile(`^(malformed (?:JSON|YAML)) at line (\d+), column (\d+)`)

// arrangeFaults sets the line and column of faults that do not have them. A fault of a whole file
// gets the position of the top-level value. Then arrangeFaults sorts the faults of each file by
// position; the files stay in the order of their first fault. open returns the placer of a file,
// or nil, and then the faults of that file get no positions.
func arrangeFaults(faults engine.Faults, open func(file string) placer) {
	rank := make(map[string]int)
	lacking := make(map[string][]string)
	for i, f := range faults {
		if _, ok := rank[f.File]; !ok {
			rank[f.File] = len(rank)
		}
		if m := malformed.FindStringSubmatch(f.Found); m != nil && f.Line == 0 && f.Path == "" {
			faults[i].Line, _ = strconv.Atoi(m[2])
			faults[i].Column, _ = strconv.Atoi(m[3])
			faults[i].Found = m[1] + f.Found[len(m[0]):]
		} else if f.Line == 0 {
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
		if p := files[f.File]; f.Line == 0 && p != nil {
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
