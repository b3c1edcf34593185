package query

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"restsrv/engine"
)

// landmarksMark is the first byte of a cursor with landmarks. The first byte of a cursor with values is a bracket.
const landmarksMark = '~'

// landmarkSize is the size of a landmark in a cursor, in bytes.
const landmarkSize = 1 + 8 + len(engine.Digest{})

// DigestOf returns the digest of the values of a position.
func DigestOf(at engine.Position) (d engine.Digest) {
	h := sha256.New()
	var room []byte
	for _, v := range at.Values {
		room = room[:0]
		text, isText := textOf(v)
		switch v := v.(type) {
		case bool:
			room = append(room, 'b', flag(v))
		case int64:
			room = binary.BigEndian.AppendUint64(append(room, 'i'), uint64(v))
		case engine.Instant:
			room = binary.BigEndian.AppendUint64(append(room, 't'), uint64(v))
		case float64:
			room = binary.BigEndian.AppendUint64(append(room, 'r'), math.Float64bits(v))
		default:
			room = append(room, '0')
			if isText {
				room = binary.BigEndian.AppendUint64(append(room[:0], 's'), uint64(len(text)))
			}
		}
		h.Write(room)
		h.Write([]byte(text))
	}
	copy(d[:], h.Sum(room[:0]))
	return d
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// textOf returns the text of a value. ok is false if the type of the value cannot have long text.
func textOf(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case engine.Decimal:
		return string(v), true
	case engine.JSONText:
		return string(v), true
	}
	return "", false
}

// sizeOf estimates the size of the values in a cursor, in bytes.
func sizeOf(at engine.Position) (n int) {
	for _, v := range at.Values {
		text, _ := textOf(v)
		n += 20 + len(text)
	}
	return n
}

// landmarks returns the landmarks for a cursor that marks the end of a page. The next page begins at the first
// landmark with an unchanged item (see engine.Position). The landmarks are, in this order:
//   - the last item of the page
//   - the item after the page, if there is one
//   - the other items of the page, from the last to the first
//   - if the page has fewer than CursorItems items, landmarks of the cursor in the request (q.After)
func landmarks(q *engine.Query, page []engine.Position, next *engine.Position) (all []engine.Landmark) {
	last := len(page) - 1
	all = append(all, engine.Landmark{Sequence: page[last].Sequence, Digest: DigestOf(page[last])})
	if next != nil {
		all = append(all, engine.Landmark{Sequence: next.Sequence, Digest: DigestOf(*next), Ahead: true})
	}
	for i := last - 1; i >= 0; i-- {
		all = append(all, engine.Landmark{Sequence: page[i].Sequence, Digest: DigestOf(page[i])})
	}
	if len(page) < CursorItems && q.After != nil {
		for _, l := range q.After.Landmarks {
			if !l.Ahead && len(all) <= CursorItems {
				all = append(all, l)
			}
		}
	}
	return all
}

func appendLandmarks(b []byte, all []engine.Landmark) []byte {
	b = append(b, landmarksMark)
	for _, l := range all {
		b = append(b, flag(l.Ahead))
		b = binary.BigEndian.AppendUint64(b, uint64(l.Sequence))
		b = append(b, l.Digest[:]...)
	}
	return b
}

// readLandmarks reads the output of appendLandmarks.
func readLandmarks(b []byte) (all []engine.Landmark) {
	for b = b[1:]; len(b) >= landmarkSize; b = b[landmarkSize:] {
		l := engine.Landmark{Ahead: b[0] == 1, Sequence: int64(binary.BigEndian.Uint64(b[1:]))}
		copy(l.Digest[:], b[9:])
		all = append(all, l)
	}
	return all
}
