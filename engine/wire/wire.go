// Package wire reads JSON that strangers sent. It owns the JSON library, keeps
// the order of names and the exact text of numbers, and bounds the depth, the
// length of numbers and the number of values. It does not check what the JSON says:
// that is engine's (Class.Bind, ParseFilter).
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

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 512

// MaxValues is how many values one text may hold, those of arrays and objects
// counted. Scripts may parse as many. It bounds the time that a text takes: each
// value costs about as much as a hundred characters.
const MaxValues = 1_000_000

// MaxMembers is how many members one object may have. In scripts the time for a
// member grows with the size of the object.
const MaxMembers = 100_000

// Decode reads one JSON value (RFC 8259) and returns it as nil, bool, string,
// json.Number, []any or engine.Fields. Of names given twice both are kept; the
// last counts. A byte order mark before the value is passed over. The error is
// Invalid with reason "json" and tells the line and column.
func Decode(data []byte) (any, error) { return DecodeTo(MaxDepth, data) }

// DecodeTo is Decode for JSON that is nested to another depth.
func DecodeTo(depth int, data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := decoder{most: depth, src: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))}
	v, err := d.value(0)
	if err == nil {
		if _, err = d.src.ReadToken(); err == io.EOF {
			return v, nil
		} else if err == nil {
			err = errMore
		}
	}
	return nil, malformed(err, d.src.InputOffset(), func(offset int64) (line, column int) { return Position(data, int(offset)) })
}

// cause words a decoder's error without naming the library.
func cause(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends too early"
	}
	return err.Error()
}

// Position returns the 1-based line and column, in bytes, of an offset.
func Position(data []byte, offset int) (line, column int) {
	if offset > len(data) {
		offset = len(data)
	}
	before := data[:offset]
	return bytes.Count(before, []byte{'\n'}) + 1, offset - bytes.LastIndexByte(before, '\n')
}

type decoder struct {
	most  int // levels
	src   *jsontext.Decoder
	last  engine.Fields // the object read last: its neighbour often has the same names
	depth int           // of last
	read  int           // values so far
	room  engine.Fields // taken by the next object; nil for none
}

func (d *decoder) value(depth int) (any, error) {
	if depth > d.most {
		return nil, engine.Errorf(engine.Invalid, "json", "the JSON is nested deeper than %d levels", d.most)
	}
	if d.read++; d.read > MaxValues {
		return nil, engine.Errorf(engine.TooLarge, "too-many-values", "the JSON has more than %d values", MaxValues)
	}
	switch k := d.src.PeekKind(); k {
	case '0':
		return d.number()
	case '[':
		return d.array(depth)
	case '{':
		return d.object(depth)
	case '"':
		return d.text("")
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

// number reads a number of at most engine.MaxNumber characters.
func (d *decoder) number() (any, error) {
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

// oneDigit has the numbers of one digit, so that reading one does not allocate.
var oneDigit = [10]any{
	json.Number("0"), json.Number("1"), json.Number("2"), json.Number("3"), json.Number("4"),
	json.Number("5"), json.Number("6"), json.Number("7"), json.Number("8"), json.Number("9"),
}

func (d *decoder) array(depth int) (any, error) {
	if _, err := d.src.ReadToken(); err != nil {
		return nil, err
	}
	list := []any{}
	for d.src.PeekKind() != ']' {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.src.ReadToken()
	return list, err
}

func (d *decoder) object(depth int) (any, error) {
	if _, err := d.src.ReadToken(); err != nil {
		return nil, err
	}
	var last engine.Fields
	if d.depth == depth { // only a neighbour: room made for each level of a deep nest would add up
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
		name, err := d.text(known)
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, engine.Field{Name: name, Value: v})
	}
	_, err := d.src.ReadToken()
	d.last, d.depth = fields, depth
	return fields, err
}

// text reads a string. When it is known, that is returned, which saves an
// allocation.
func (d *decoder) text(known string) (string, error) {
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
