package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
)

// maxDepth is the maximum nesting depth of a document. engine/wire has the same limit.
const maxDepth = 512

// Locate returns the places of the given JSON paths, and of the objects and arrays that contain
// them. It returns nil if the document is malformed. A path that does not exist in the document
// has no place; for such a path, Places.Of returns the place of the nearest object or array
// around it.
func Locate(data []byte, paths []string) Places {
	w := walker{data: data, src: json.NewDecoder(bytes.NewReader(data)), around: make(map[string]bool), places: make(Places), line: 1}
	for _, path := range paths {
		for ; path != ""; path = Around(path) {
			w.around[path] = true
		}
	}
	w.src.UseNumber()
	w.places[""] = w.nextPlace()
	if err := w.walkValue("", 0); err != nil {
		return nil
	}
	return w.places
}

type walker struct {
	data   []byte
	src    *json.Decoder
	around map[string]bool // the wanted paths and all their prefixes
	places Places
	offset int // line and start are valid for this offset
	line   int
	start  int // offset of the first byte of the line
}

// nextPlace returns the place of the next token.
func (w *walker) nextPlace() Place {
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
	return Place{Line: w.line, Column: at - w.start + 1}
}

var errTooDeep = errors.New("nested too deep")

func (w *walker) walkValue(path string, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	token, err := w.src.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		for w.src.More() {
			at := w.nextPlace()
			name, err := w.src.Token()
			if err != nil {
				return err
			}
			if err := w.walkInner(Member(path, name.(string)), at, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; w.src.More(); i++ {
			if err := w.walkInner(Element(path, i), w.nextPlace(), depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = w.src.Token()
	return err
}

// walkInner reads the value at a path within an object or array. It skips the value if no wanted
// path begins with this path.
func (w *walker) walkInner(path string, at Place, depth int) error {
	if w.around[path] {
		w.places[path] = at
		return w.walkValue(path, depth)
	}
	var skipped json.RawMessage
	return w.src.Decode(&skipped)
}
