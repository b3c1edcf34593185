package platform

import (
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"golang.org/x/text/encoding/charmap"
)

// single contains the encodings with one byte per character.
var single = map[string]*charmap.Charmap{
	"windows-1251": charmap.Windows1251, "windows-1252": charmap.Windows1252, "koi8-r": charmap.KOI8R, "ibm866": charmap.CodePage866,
}

// charsets maps the labels that TextDecoder accepts to the names of the encodings.
var charsets = map[string]string{
	"utf-8": "utf-8", "utf8": "utf-8", "unicode-1-1-utf-8": "utf-8",
	"utf-16le": "utf-16le", "utf-16": "utf-16le", "ucs-2": "utf-16le", "unicode": "utf-16le", "utf-16be": "utf-16be",
	"windows-1252": "windows-1252", "cp1252": "windows-1252", "x-cp1252": "windows-1252", "latin1": "windows-1252", "l1": "windows-1252",
	"iso-8859-1": "windows-1252", "iso8859-1": "windows-1252", "ascii": "windows-1252", "us-ascii": "windows-1252",
	"windows-1251": "windows-1251", "cp1251": "windows-1251", "x-cp1251": "windows-1251",
	"koi8-r": "koi8-r", "koi8": "koi8-r", "koi": "koi8-r", "ibm866": "ibm866", "cp866": "ibm866", "866": "ibm866",
}

// decoder is the Go part of a TextDecoder. It decodes text that arrives in chunks.
type decoder struct {
	js      *goja.Runtime
	charset string
	keepBOM bool
	started bool
	pending []byte // bytes of an incomplete character at the end of the last chunk
	failed  bool   // the last chunk contained invalid bytes
}

// decode returns the text of the next chunk. If last is true, no chunk follows, so an incomplete character at the end
// is invalid.
func (d *decoder) decode(b []byte, last bool) goja.Value {
	if len(d.pending) > 0 {
		b = append(d.pending, b...)
		d.pending = nil
	}
	d.failed = false
	switch d.charset {
	case "utf-8":
		return d.decodeUTF8(b, last)
	case "utf-16le", "utf-16be":
		return d.decodeUTF16(b, last)
	}
	units := make([]uint16, len(b))
	for i, c := range b {
		units[i] = uint16(c) // used if the charset assigns no character to the byte
		if r := single[d.charset].DecodeByte(c); r != utf8.RuneError {
			units[i] = uint16(r)
		}
	}
	return goja.StringFromUTF16(units)
}

func (d *decoder) decodeUTF8(b []byte, last bool) goja.Value {
	if !last {
		whole := len(b) - openUTF8(b)
		d.pending = append([]byte(nil), b[whole:]...)
		b = b[:whole]
	}
	if !d.started && len(b) > 0 {
		d.started = true
		if !d.keepBOM && len(b) >= 3 && string(b[:3]) == "\ufeff" {
			b = b[3:]
		}
	}
	s, bad := validUTF8(b)
	d.failed = bad
	return d.js.ToValue(s)
}

// openUTF8 returns the number of bytes at the end of b that are the beginning of a character in UTF-8.
func openUTF8(b []byte) int {
	for n := 1; n <= 3 && n <= len(b); n++ {
		if c := b[len(b)-n]; c >= 0xC2 {
			if length, open := partialLength(b[len(b)-n:]); open && length == n {
				return n
			}
			return 0
		} else if c < 0x80 {
			return 0
		}
	}
	return 0
}

// partialLength returns the number of bytes at the start of b that can be one character in UTF-8 or its beginning.
// open is true if b ends before the character is complete.
func partialLength(b []byte) (n int, open bool) {
	low, high, more := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c < 0x80:
		return 1, false
	case c >= 0xC2 && c <= 0xDF:
		more = 1
	case c >= 0xE0 && c <= 0xEF:
		more = 2
	case c >= 0xF0 && c <= 0xF4:
		more = 3
	default:
		return 1, false
	}
	switch b[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	for n = 1; n <= more; n++ {
		if n == len(b) {
			return n, true
		}
		if b[n] < low || b[n] > high {
			return n, false
		}
		low, high = 0x80, 0xBF
	}
	return n, false
}

// validUTF8 returns b as text. It replaces each invalid sequence by U+FFFD. The second result is true if b contained
// an invalid sequence.
func validUTF8(b []byte) (string, bool) {
	if utf8.Valid(b) {
		return string(b), false
	}
	var out strings.Builder
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n, _ = partialLength(b)
		}
		out.WriteRune(c)
		b = b[n:]
	}
	return out.String(), true
}

func (d *decoder) decodeUTF16(b []byte, last bool) goja.Value {
	whole := len(b) &^ 1
	units := make([]uint16, 0, whole/2+1)
	for i := 0; i < whole; i += 2 {
		lo, hi := b[i], b[i+1]
		if d.charset == "utf-16be" {
			lo, hi = hi, lo
		}
		units = append(units, uint16(lo)|uint16(hi)<<8)
	}
	if n := len(units); !last && n > 0 && units[n-1]>>10 == 0x36 { // the first half of a surrogate pair
		units, whole = units[:n-1], whole-2
	}
	if !d.started && len(units) > 0 {
		d.started = true
		if !d.keepBOM && units[0] == 0xFEFF {
			units = units[1:]
		}
	}
	for i := 0; i < len(units); i++ {
		switch units[i] >> 10 {
		case 0x36:
			if i+1 < len(units) && units[i+1]>>10 == 0x37 {
				i++
				continue
			}
			units[i], d.failed = 0xFFFD, true
		case 0x37:
			units[i], d.failed = 0xFFFD, true
		}
	}
	if !last {
		d.pending = append([]byte(nil), b[whole:]...)
	} else if whole < len(b) {
		units, d.failed = append(units, 0xFFFD), true
	}
	return goja.StringFromUTF16(units)
}

// decoderNative returns the Go functions for the file modules/encoding.js: decoder(label, fatal, keepBOM) for
// TextDecoder and encode(text) for TextEncoder.
func decoderNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"decoder": func(call goja.FunctionCall) goja.Value {
			label := strings.ToLower(strings.Trim(textArgument(call, 0), " \t\n\r\f"))
			charset, ok := charsets[label]
			if !ok {
				p.fail("RangeError", "ERR_ENCODING_NOT_SUPPORTED", "the encoding %q is not supported; utf-8, utf-16le, utf-16be, windows-1251, windows-1252 (latin1), koi8-r and ibm866 are", label)
			}
			d := &decoder{js: p.js, charset: charset, keepBOM: call.Argument(2).ToBoolean()}
			fatal := call.Argument(1).ToBoolean()
			o := p.newNatives(natives{"decode": func(call goja.FunctionCall) goja.Value {
				last := !call.Argument(1).ToBoolean()
				var b []byte
				if v := call.Argument(0); !goja.IsUndefined(v) {
					b = p.needBytes(v, "decode")
				}
				p.checkSize(int64(len(b)), "decode")
				s := d.decode(b, last)
				if last {
					d.started, d.pending = false, nil
				}
				if fatal && d.failed {
					d.started, d.pending = false, nil
					p.fail("TypeError", "ERR_ENCODING_INVALID_ENCODED_DATA", "the bytes are no text in %s", d.charset)
				}
				return s
			}})
			_ = o.Set("encoding", charset)
			return o
		},
		"encode": func(call goja.FunctionCall) goja.Value { return p.arrayBuffer(p.encodeText(call.Argument(0), "utf8")) },
	})
}
