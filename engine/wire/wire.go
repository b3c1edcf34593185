// Package wire decodes JSON from clients, which may be malformed or malicious. It keeps the order of names and the
// exact text of numbers. It limits the nesting depth, the length of numbers and the number of values. It does not
// check the content: engine.Class.Bind and query.ParseFilter do that.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"restsrv/engine"
)

// MaxDepth is the maximum nesting depth of arrays and objects in Decode.
const MaxDepth = 512

// MaxValues is the maximum number of values in one text, including the values inside arrays and objects. JSON.parse
// of scripts has the same limit. It limits the time for decoding: one value takes about as much time as a hundred
// characters.
const MaxValues = 1_000_000

// MaxMembers is the maximum number of members of one object. Without it, objects in scripts could
// become very slow: the time to add a member grows with the size of the object.
const MaxMembers = 100_000

// Decode decodes one JSON value (RFC 8259). It returns nil, bool, string, json.Number, []any or engine.Fields. If an
// object contains a name twice, the result contains both members, and callers should use the last one. Decode skips a
// byte order mark before the value. If the text is malformed, the error has the code Invalid and the reason "json",
// and the message contains the line and the column.
func Decode(data []byte) (any, error) { return DecodeTo(MaxDepth, data) }

// DecodeTo is Decode with another maximum nesting depth.
func DecodeTo(depth int, data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := decoder{most: depth, src: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))}
	v, err := d.readValue(0)
	if err == nil {
		if _, err = d.src.ReadToken(); err == io.EOF {
			return v, nil
		} else if err == nil {
			err = errMore
		}
	}
	return nil, syntaxError(err, d.src.InputOffset(), func(offset int64) (line, column int) { return Position(data, int(offset)) })
}

// causeText returns the text of an error of the decoder, without the name of the library.
func causeText(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends too early"
	}
	return err.Error()
}

// Position returns the line and the column of an offset in data. Both count from 1; the column counts bytes.
func Position(data []byte, offset int) (line, column int) {
	if offset > len(data) {
		offset = len(data)
	}
	before := data[:offset]
	return bytes.Count(before, []byte{'\n'}) + 1, offset - bytes.LastIndexByte(before, '\n')
}

type decoder struct {
	most  int // maximum nesting depth
	src   *jsontext.Decoder
	last  engine.Fields // the last object that was read; the next object often has the same names
	depth int           // nesting depth of last
	read  int           // number of values that were read
	room  engine.Fields // memory for the members of the next object; nil to allocate it
}

func (d *decoder) readValue(depth int) (any, error) {
	if depth > d.most {
		return nil, engine.Errorf(engine.Invalid, "json", "the JSON is nested deeper than %d levels", d.most)
	}
	if d.read++; d.read > MaxValues {
		return nil, engine.Errorf(engine.TooLarge, "too-many-values", "the JSON has more than %d values", MaxValues)
	}
	switch k := d.src.PeekKind(); k {
	case '0':
		return d.readNumber()
	case '[':
		return d.readArray(depth)
	case '{':
		return d.readObject(depth)
	case '"':
		return d.readText("")
	}
	t, err := d.src.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return nil, fmt.Errorf("unexpected %s", t)
}

// readNumber reads a number of at most engine.MaxNumber characters.
func (d *decoder) readNumber() (any, error) {
	raw, err := d.src.ReadValue()
	if err == nil && len(raw) > engine.MaxNumber {
		err := fmt.Errorf("a number has at most %d characters, found %d (%s…)", engine.MaxNumber, len(raw), raw[:20])
		return nil, &jsontext.SyntacticError{ByteOffset: d.src.InputOffset() - int64(len(raw)), Err: err}
	}
	if len(raw) == 1 && err == nil {
		return oneDigit[raw[0]-'0'], nil
	}
	return json.Number(raw), err
}

// oneDigit contains the numbers of one digit as interfaces, so that reading one of them does not allocate.
var oneDigit = [10]any{
	json.Number("0"), json.Number("1"), json.Number("2"), json.Number("3"), json.Number("4"),
	json.Number("5"), json.Number("6"), json.Number("7"), json.Number("8"), json.Number("9"),
}

func (d *decoder) readArray(depth int) (any, error) {
	if _, err := d.src.ReadToken(); err != nil {
		return nil, err
	}
	list := []any{}
	for d.src.PeekKind() != ']' {
		v, err := d.readValue(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.src.ReadToken()
	return list, err
}

func (d *decoder) readObject(depth int) (any, error) {
	if _, err := d.src.ReadToken(); err != nil {
		return nil, err
	}
	var last engine.Fields
	if d.depth == depth { // reserve memory only for siblings: on each level of a deeply nested text, it would add up
		last = d.last
	}
	fields := d.room
	if d.room = nil; fields == nil {
		fields = make(engine.Fields, 0, len(last))
	}
	for d.src.PeekKind() != '}' {
		if len(fields) == MaxMembers {
			return nil, engine.Errorf(engine.TooLarge, "too-many-values", "an object in the JSON has more than %d members", MaxMembers)
		}
		known := ""
		if len(fields) < len(last) {
			known = last[len(fields)].Name
		}
		name, err := d.readText(known)
		if err != nil {
			return nil, err
		}
		v, err := d.readValue(depth + 1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, engine.Field{Name: name, Value: v})
	}
	_, err := d.src.ReadToken()
	d.last, d.depth = fields, depth
	return fields, err
}

// readText reads a string. If the string equals known, readText returns known, which saves an allocation.
func (d *decoder) readText(known string) (string, error) {
	raw, err := d.src.ReadValue()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		text, err := jsontext.AppendUnquote(nil, raw)
		return string(text), err
	}
	raw = raw[1 : len(raw)-1]
	if string(raw) == known {
		return known, nil
	}
	return string(raw), nil
}
