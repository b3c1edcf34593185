package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"restsrv/engine"
)

// Elements reads a JSON array one element at a time, so that neither the text nor the decoded array must fit into
// memory. If the text is not an array, Elements reads the value as if it were the only element of an array.
type Elements struct {
	// Alone is true if the text is a single value instead of an array. It is valid after the first call of Next.
	Alone bool

	d       decoder
	text    *text
	started bool
	over    bool
}

// NewElements returns an Elements that reads JSON text from r. It accepts the same text as Decode. If reading r fails
// with an *engine.Error, Next returns that error.
func NewElements(r io.Reader) *Elements {
	t := &text{src: r, line: 1}
	return &Elements{text: t, d: decoder{most: MaxDepth, src: jsontext.NewDecoder(t, jsontext.AllowDuplicateNames(true))}}
}

// Next returns the next element, with the same types and errors as Decode. It returns io.EOF after the last element.
// If the element is an object, the next call of Next overwrites its Fields.
func (e *Elements) Next() (any, error) {
	v, err := e.readNext()
	if err == nil {
		e.text.discardBefore(e.d.src.InputOffset())
		return v, nil
	}
	if err == io.EOF && e.over {
		return nil, io.EOF
	}
	return nil, syntaxError(err, e.d.src.InputOffset(), e.text.positionOf)
}

func (e *Elements) readNext() (any, error) {
	if !e.started {
		e.started = true
		e.Alone = e.d.src.PeekKind() != '['
		if !e.Alone {
			if _, err := e.d.src.ReadToken(); err != nil {
				return nil, err
			}
		}
		return e.readElement()
	}
	if e.Alone {
		return nil, e.checkEnd()
	}
	return e.readElement()
}

func (e *Elements) readElement() (any, error) {
	switch kind := e.d.src.PeekKind(); {
	case kind == ']' && !e.Alone:
		if _, err := e.d.src.ReadToken(); err != nil {
			return nil, err
		}
		return nil, e.checkEnd()
	case kind == '{' && e.d.depth == 1:
		e.d.room = e.d.last[:0] // the names of last are read before they are overwritten
	}
	return e.d.readValue(1)
}

// checkEnd returns io.EOF if the text has ended, otherwise an error.
func (e *Elements) checkEnd() error {
	e.over = true
	if _, err := e.d.src.ReadToken(); err != nil {
		return err
	}
	e.over = false
	return errMore
}

var errMore = errors.New("there is more after the value")

// text is the input of a decoder. It keeps the bytes after the last element that was read, so
// that it can compute the line and column of a syntax error. The kept bytes take about as much
// memory as the decoder itself.
type text struct {
	src    io.Reader
	begun  bool
	kept   []byte
	at     int64 // offset in the input at which kept begins
	line   int   // line of that offset; the first line is 1
	column int   // number of bytes before that offset on its line
}

// Read implements io.Reader. It skips a byte order mark at the beginning of the input.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.src.Read(p)
	if !t.begun {
		mark := []byte("\ufeff")
		for n > 0 && n < len(mark) && bytes.HasPrefix(mark, p[:n]) && err == nil && len(p) >= len(mark) {
			var more int
			more, err = t.src.Read(p[n:])
			n += more
		}
		t.begun = n > 0
		if bytes.HasPrefix(p[:n], mark) {
			n = copy(p, p[len(mark):n])
		}
	}
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// discardBefore discards the kept bytes before offset. It does so only if they are at least half
// of the kept bytes, because it has to copy the rest.
func (t *text) discardBefore(offset int64) {
	n := int(offset - t.at)
	if n < len(t.kept)/2 {
		return
	}
	t.line, t.column = t.positionOf(offset)
	t.column--
	t.at = offset
	t.kept = t.kept[:copy(t.kept, t.kept[n:])]
}

// positionOf returns the line and column of an offset in the input. The offset must not be before t.at.
func (t *text) positionOf(offset int64) (line, column int) {
	line, column = Position(t.kept, int(offset-t.at))
	if line == 1 {
		column += t.column
	}
	return t.line + line - 1, column
}

// syntaxError returns the error to report for err, an error of the decoder at offset. position converts an offset to
// a line and a column.
func syntaxError(err error, offset int64, position func(offset int64) (line, column int)) error {
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		return e
	}
	if s := (*jsontext.SyntacticError)(nil); errors.As(err, &s) {
		offset, err = s.ByteOffset, s.Err
	}
	line, column := position(offset)
	return engine.Errorf(engine.Invalid, "json", "malformed JSON at line %d, column %d: %s", line, column, causeText(err))
}
