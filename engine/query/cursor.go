package query

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"restsrv/engine"
)

// CursorKey is the secret key that encrypts and authenticates positions in lists. An encrypted position is a cursor: a
// client can send it back, but cannot read it, change it or use it for another list. All server processes that use one
// database share the key.
type CursorKey []byte

const (
	sealSize  = 16 // bytes of a seal
	maxCursor = 64 << 10
	maxValues = 512 // maximum size in bytes of the values in a cursor; a cursor for longer values contains landmarks instead
)

// CursorItems is the number of items that the parameter page of Encode must have: the last items of the page, or all
// items if the page has fewer.
const CursorItems = 4

// Encode implements service.Cursors.
func (k CursorKey) Encode(q *engine.Query, page []engine.Position, next *engine.Position) string {
	at := page[len(page)-1]
	var body []byte
	if sizeOf(at) <= maxValues {
		body = engine.AppendValue(nil, normalList(append([]any{at.Sequence}, at.Values...)))
	} else {
		body = appendLandmarks(nil, landmarks(q, page, next))
	}
	sealed := append(k.computeSeal(q, body), body...)
	k.applyCipher(sealed)
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// Decode reads a cursor. Encode must have written the cursor for a list of the same class, filter, order and search;
// otherwise the error is Invalid.
func (k CursorKey) Decode(q *engine.Query, cursor string) (*engine.Position, error) {
	at := k.decode(q, cursor)
	if at == nil {
		return nil, engine.Errorf(engine.Invalid, "cursor", "the cursor is not one of this list: it was changed, or class, filter, order or search are others; begin again without it")
	}
	return at, nil
}

// decode returns the position in a cursor, or nil if the cursor was not written by Encode for the list of q.
func (k CursorKey) decode(q *engine.Query, cursor string) *engine.Position {
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") { // checked because the base64 decoder ignores line ends
		return nil
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(sealed) < sealSize {
		return nil
	}
	k.applyCipher(sealed)
	body := sealed[sealSize:]
	if !hmac.Equal(sealed[:sealSize], k.computeSeal(q, body)) {
		return nil
	}
	switch {
	case len(q.Sort) == 0:
		return sequenceOnly(body)
	case len(body) > 0 && body[0] == landmarksMark:
		return &engine.Position{Landmarks: readLandmarks(body)}
	}
	values, ok := decodeList(engine.JSONText(body))
	if !ok || len(values) != len(q.Sort)+1 {
		return nil
	}
	at := &engine.Position{Values: values[1:]}
	if at.Sequence, ok = engine.CastInt(values[0]); !ok {
		return nil
	}
	for i, s := range q.Sort {
		if at.Values[i], err = castSorted(s, at.Values[i]); err != nil {
			return nil
		}
	}
	return at
}

// sequenceOnly reads the body of a cursor for a list without a sort order, which has the form [number]. It returns nil
// for any other body.
func sequenceOnly(body []byte) *engine.Position {
	digits := bytes.TrimSuffix(bytes.TrimPrefix(body, []byte{'['}), []byte{']'})
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || len(digits) != len(body)-2 {
		return nil
	}
	return &engine.Position{Sequence: n}
}

// castSorted converts a value of a cursor back to the Go type of the property.
func castSorted(s engine.Sort, v any) (any, error) {
	t := s.Property.ValueType()
	if text, ok := v.(string); ok && t.JSON() {
		return engine.JSONText(text), nil
	}
	return (&engine.Property{Name: s.Property.Name, Type: t}).Cast(v)
}

// applyCipher encrypts or decrypts the bytes after the seal, which is the message authentication code (see
// computeSeal). Encryption hides the sequence number of an item, from which a client could learn how many stored items
// its account cannot see. The seal is different for each position, so it also serves as the nonce of the cipher.
func (k CursorKey) applyCipher(sealed []byte) {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte("what is behind the seal")) // shorter than any sealed message, so it differs from all of them
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err) // impossible, because the key has the right length
	}
	cipher.NewCTR(block, sealed[:sealSize]).XORKeyStream(sealed[sealSize:], sealed[sealSize:])
}

// computeSeal returns the message authentication code of body and the list of q.
func (k CursorKey) computeSeal(q *engine.Query, body []byte) []byte {
	mac := hmac.New(sha256.New, k)
	shape := engine.AppendString(nil, q.Class.FullName)
	shape = engine.AppendString(shape, q.Search)
	if q.Exact {
		shape = append(shape, '!')
	}
	for _, s := range q.Sort {
		shape = append(appendPath(shape, s.Path()), map[bool]byte{false: '+', true: '-'}[s.Descending])
	}
	shape = appendFilter(shape, q.Filter)
	sum := sha256.Sum256(shape)
	mac.Write(sum[:])
	mac.Write(body)
	return mac.Sum(nil)[:sealSize]
}

func appendPath(b []byte, path []*engine.Property) []byte {
	for _, p := range path {
		b = engine.AppendString(append(b, '.'), p.Name)
	}
	return b
}

// appendFilter appends a text that is different for each filter.
func appendFilter(b []byte, f *engine.Filter) []byte {
	if f == nil {
		return append(b, "()"...)
	}
	b = append(append(append(b, '('), f.Op...), ' ')
	for _, a := range f.Args {
		b = appendFilter(b, a)
	}
	b = appendExpr(appendExpr(b, f.Left), f.Right)
	b = engine.AppendValue(b, normalList(f.List))
	b = engine.AppendString(b, f.Pattern)
	if f.Value {
		b = append(b, '1')
	}
	return append(b, ')')
}

func appendExpr(b []byte, e *engine.Expr) []byte {
	if e == nil {
		return append(b, '_')
	}
	b = append(append(append(b, '['), e.Op...), ' ')
	b = appendPath(b, e.Path)
	switch v := e.Value.(type) {
	case engine.Span:
		b = engine.AppendValue(b, []any{v.Start, v.Length})
	case engine.DatePart:
		b = engine.AppendString(b, string(v))
	case []engine.FormatPiece:
		for _, p := range v {
			b = engine.AppendValue(b, []any{string(p.Part), int64(p.Width), p.Literal})
		}
	default:
		if e.Op != engine.OpNow { // the time of the query is not part of the identity of the list
			b = engine.AppendValue(b, normalValue(v))
		}
	}
	for _, a := range e.Args {
		b = appendExpr(b, a)
	}
	for _, c := range e.Conds {
		b = appendFilter(b, c)
	}
	return append(b, ']')
}

func normalList(list []any) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = normalValue(v)
	}
	return all
}

func normalValue(v any) any {
	if text, ok := v.(engine.JSONText); ok {
		return string(text)
	}
	return v
}

// decodeList reads a JSON array. ok is false if v is not an array of plain values.
func decodeList(v any) (list []any, ok bool) {
	text, ok := v.(engine.JSONText)
	if !ok {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&list); err != nil || !bytes.HasPrefix([]byte(text), []byte{'['}) {
		return nil, false
	}
	for _, e := range list {
		switch e.(type) {
		case nil, bool, string, json.Number:
		default:
			return nil, false
		}
	}
	return list, true
}
