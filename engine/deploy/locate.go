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

// Locate fills in file, line and column of faults that have a JSON path only,
// and puts the faults of each file in its order. It reads the files again, below
// Dir; one that has changed or gone leaves its faults as they are.
func (c *Config) Locate(faults engine.Faults) engine.Faults {
	located := append(engine.Faults(nil), faults...)
	c.trace(located)
	files := make(map[string]jsonfile.Places)
	for _, f := range located {
		if _, ok := files[f.File]; ok || !filepath.IsLocal(filepath.FromSlash(f.File)) {
			continue
		}
		files[f.File] = nil
		if data, err := os.ReadFile(filepath.Join(c.Dir, filepath.FromSlash(f.File))); err == nil {
			_, files[f.File], _ = decode(f.File, data) // malformed files have no places
		}
	}
	arrange(located, files)
	return located
}

// arrange gives faults their place and sorts them by it, files in the order in
// which they come up.
func arrange(faults engine.Faults, files map[string]jsonfile.Places) {
	rank := make(map[string]int)
	for i, f := range faults {
		if _, ok := rank[f.File]; !ok {
			rank[f.File] = len(rank)
		}
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

// locate returns the places of a JSON document, nil when it is malformed.
func locate(data []byte) jsonfile.Places {
	w := walker{data: data, src: json.NewDecoder(bytes.NewReader(data)), places: make(jsonfile.Places), line: 1}
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
			inner := jsonfile.Member(path, name.(string))
			w.places[inner] = at
			if err := w.value(inner, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; w.src.More(); i++ {
			inner := jsonfile.Element(path, i)
			w.places[inner] = w.next()
			if err := w.value(inner, depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = w.src.Token()
	return err
}
