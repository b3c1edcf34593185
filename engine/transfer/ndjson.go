package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"restsrv/engine"
)

// header is the first line of what Export writes. No object looks like it.
const header = `{"_restsrv":"export","_version":1}`

// maxLine is the longest line of NDJSON.
const maxLine = 64 << 20

// NDJSON reads one object a line. size is that of the whole text, for the
// progress; name is what the objects are said to come from.
func NDJSON(r io.Reader, name string, size int64) Source {
	lines := bufio.NewReaderSize(r, 1<<16)
	first, _ := lines.Peek(len(header) + 1)
	s := Source{Total: size, Exact: string(bytes.TrimRight(first, "\r\n")) == header}
	s.Objects = func(yield func(Object) bool) {
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if err == io.EOF && len(line) == 0 {
				return
			}
			o := Object{Where: fmt.Sprintf("%s:%d", name, n), Size: int64(len(line))}
			switch text := bytes.TrimSpace(line); {
			case err != nil && err != io.EOF:
				o.Err = err
			case len(text) == 0, n == 1 && s.Exact:
				continue
			default:
				o.fill(text)
			}
			if !yield(o) || err != nil {
				return
			}
		}
	}
	return s
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return line, fmt.Errorf("the line is longer than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// fill reads an object that names its class and its id itself.
func (o *Object) fill(text []byte) {
	if o.Fields, o.Err = object(text); o.Err != nil {
		return
	}
	if o.Class = fieldText(o.Fields, "_class"); o.Class == "" {
		o.Err = errors.New("the object names no class in _class")
	}
	o.ID = fieldText(o.Fields, "_id")
}

// fieldText is a field that holds text or a number, "" for anything else.
func fieldText(f engine.Fields, name string) string {
	v, _ := f.Get(name)
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return ""
}
