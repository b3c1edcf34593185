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

// maxLine is the maximum size in bytes of a line, and of a file in a data folder.
const maxLine = 64 << 20

// NDJSON returns a source with one object per line, or an export. size is the length of the text in
// bytes, for use as Source.Total; it is negative if unknown. name is the file name for reports.
func NDJSON(r io.Reader, name string, size int64) Source {
	lines := bufio.NewReaderSize(r, 1<<16)
	first, _ := lines.Peek(len(header) + 1)
	s := Source{Total: size, Exact: string(bytes.TrimRight(first, "\r\n")) == header}
	s.Objects = func(yield func(Object) bool) {
		var room []byte
		for n := 1; ; n++ {
			line, err := readLine(lines, room[:0])
			room = line
			if err == io.EOF && len(line) == 0 {
				return
			}
			o := Object{Where: fmt.Sprintf("%s:%d", name, n), Size: int64(len(line))}
			switch text := bytes.TrimSpace(line); {
			case err != nil && err != io.EOF:
				o.Err = err
			case len(text) == 0:
				continue
			case n == 1 && bytes.HasPrefix(text, []byte(headerStart)) && !s.Exact:
				o.Err = errors.New("it was exported by another version of restsrv and is not imported: this version reads " + header)
				yield(o)
				return
			case s.Exact:
				o.Line = text
			default:
				o.fillFromLine(text)
			}
			if !yield(o) || err != nil && !errors.Is(err, errLong) {
				return
			}
		}
	}
	return s
}

var errLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// readLine appends the next line to room. A line that is too long is read to its end and
// discarded, so that the next call returns the following line.
func readLine(r *bufio.Reader, room []byte) ([]byte, error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		room = append(room, part...)
		if len(room) > maxLine {
			room, long = room[:0], true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || err == io.EOF):
			return room[:0], errLong
		default:
			return room, err
		}
	}
}

// fillFromLine decodes an object that contains its class and id.
func (o *Object) fillFromLine(text []byte) {
	if o.Fields, o.Err = decodeObject(text); o.Err != nil {
		return
	}
	if o.Class = fieldText(o.Fields, "_class"); o.Class == "" {
		o.Err = errors.New(`the object names no class, such as "_class": "note@sample"`)
	}
	o.ID = fieldText(o.Fields, "_id")
}

// fieldText returns the value of a field as text. It returns "" if the value is not text or a
// number.
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
