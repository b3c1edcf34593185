package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// Digest is a hash of values of an item.
type Digest [16]byte

// landmarksMark is the first byte of landmarks in a cursor. Values begin with a
// bracket.
const landmarksMark = '~'

// landmarkSize is the size of a landmark in a cursor, in bytes.
const landmarkSize = 1 + 8 + len(Digest{})

// Digest returns the digest of the values.
func (at Position) Digest() (d Digest) {
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
		case Instant:
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

// textOf returns the text of a value if its type can have long text.
func textOf(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Decimal:
		return string(v), true
	case JSONText:
		return string(v), true
	}
	return "", false
}

// size estimates the size of the values in a cursor, in bytes.
func (at Position) size() (n int) {
	for _, v := range at.Values {
		text, _ := textOf(v)
		n += 20 + len(text)
	}
	return n
}

// landmarks returns the items to which the cursor for the end of a page refers:
// the last item, then the next one, which is used if all items of the page are
// deleted, then those before the last one, back to the landmarks of the
// previous page.
func landmarks(q *Query, page []Position, next *Position) (all []Landmark) {
	last := len(page) - 1
	all = append(all, Landmark{Sequence: page[last].Sequence, Digest: page[last].Digest()})
	if next != nil {
		all = append(all, Landmark{Sequence: next.Sequence, Digest: next.Digest(), Ahead: true})
	}
	for i := last - 1; i >= 0; i-- {
		all = append(all, Landmark{Sequence: page[i].Sequence, Digest: page[i].Digest()})
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

func appendLandmarks(b []byte, all []Landmark) []byte {
	b = append(b, landmarksMark)
	for _, l := range all {
		b = append(b, flag(l.Ahead))
		b = binary.BigEndian.AppendUint64(b, uint64(l.Sequence))
		b = append(b, l.Digest[:]...)
	}
	return b
}

// readLandmarks reads the output of appendLandmarks.
func readLandmarks(b []byte) (all []Landmark) {
	for b = b[1:]; len(b) >= landmarkSize; b = b[landmarkSize:] {
		l := Landmark{Ahead: b[0] == 1, Sequence: int64(binary.BigEndian.Uint64(b[1:]))}
		copy(l.Digest[:], b[9:])
		all = append(all, l)
	}
	return all
}
