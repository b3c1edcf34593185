package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"restsrv/engine"
)

// Elements reads the elements of a JSON array one at a time, so that neither
// the text nor the decoded array has to fit into memory. A value that is not an
// array is read as the only element of one.
type Elements struct {
	// Alone is true if the text is a single value instead of an array. It is
	// set when the first element has been read.
	Alone bool

	d       decoder
	text    *text
	started bool
	over    bool
}

// NewElements returns an Elements that reads JSON from r in the form that
// Decode accepts. If r fails with an *engine.Error, Next returns that error.
func NewElements(r io.Reader) *Elements {
	t := &text{src: r, line: 1}
	return &Elements{text: t, d: decoder{most: MaxDepth, src: jsontext.NewDecoder(t, jsontext.AllowDuplicateNames(true))}}
}

// Next returns the next element in the form that Decode uses, or io.EOF after
// the last one. The Fields of an object are overwritten by the next call.
// Errors are those of Decode.
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

// checkEnd returns io.EOF if the text ends here, and otherwise an error.
func (e *Elements) checkEnd() error {
	e.over = true
	if _, err := e.d.src.ReadToken(); err != nil {
		return err
	}
	e.over = false
	return errMore
}

var errMore = errors.New("there is more after the value")

// text is the input of a decoder. It keeps the bytes after the last passed
// offset to compute the position of a syntax error. That is about as much as
// the decoder itself buffers.
type text struct {
	src    io.Reader
	begun  bool
	kept   []byte
	at     int64 // offset of kept in the input
	line   int   // line of at, from 1
	column int   // bytes before at on its line
}

// Read implements io.Reader. It skips a byte order mark at the beginning.
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

// discardBefore discards the bytes before offset. It keeps them until they are
// at least half of the buffer.
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

// positionOf is Position for an offset in the input that has not been passed.
func (t *text) positionOf(offset int64) (line, column int) {
	line, column = Position(t.kept, int(offset-t.at))
	if line == 1 {
		column += t.column
	}
	return t.line + line - 1, column
}

// syntaxError returns the error to report for a decoder error at offset.
// position converts an offset to line and column.
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
