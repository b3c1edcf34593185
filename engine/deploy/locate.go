package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sort"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
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

// locate returns the places of paths in a JSON document and of what is around
// them, nil when it is malformed.
func locate(data []byte, paths []string) jsonfile.Places {
	w := walker{data: data, src: json.NewDecoder(bytes.NewReader(data)), around: make(map[string]bool), places: make(jsonfile.Places), line: 1}
	for _, path := range paths {
		for ; path != ""; path = jsonfile.Around(path) {
			w.around[path] = true
		}
	}
	w.src.UseNumber()
	w.places[""] = w.next()
	if err := w.value("", 0); err != nil {
		return nil
	}
	return w.places
}

type walker struct {
	data   []byte
	src    *json.Decoder
	around map[string]bool // the paths that are looked for, and those of what they are in
	places jsonfile.Places
	offset int // what was counted in line and start
	line   int
	start  int // offset at which the line begins
}

// next returns the place of the next token.
func (w *walker) next() jsonfile.Place {
	at := int(w.src.InputOffset())
	for at < len(w.data) && bytes.IndexByte([]byte(" \t\r\n,:"), w.data[at]) >= 0 {
		at++
	}
	for ; w.offset < at; w.offset++ {
		if w.data[w.offset] == '\n' {
			w.line++
			w.start = w.offset + 1
		}
	}
	return jsonfile.Place{Line: w.line, Column: at - w.start + 1}
}

var errTooDeep = errors.New("nested too deep")

func (w *walker) value(path string, depth int) error {
	if depth > wire.MaxDepth {
		return errTooDeep
	}
	token, err := w.src.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		for w.src.More() {
			at := w.next()
			name, err := w.src.Token()
			if err != nil {
				return err
			}
			if err := w.inner(jsonfile.Member(path, name.(string)), at, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; w.src.More(); i++ {
			if err := w.inner(jsonfile.Element(path, i), w.next(), depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = w.src.Token()
	return err
}

// inner walks through a value within another one, or steps over it when nothing
// in it is looked for.
func (w *walker) inner(path string, at jsonfile.Place, depth int) error {
	if w.around[path] {
		w.places[path] = at
		return w.value(path, depth)
	}
	var skipped json.RawMessage
	return w.src.Decode(&skipped)
}
