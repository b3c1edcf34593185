package platform

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/dop251/goja"
)

// encodings maps the names of the encodings of Buffer to their canonical names.
var encodings = map[string]string{
	"utf8": "utf8", "utf-8": "utf8", "hex": "hex", "base64": "base64", "base64url": "base64url",
	"latin1": "latin1", "binary": "latin1", "ascii": "ascii",
	"ucs2": "utf16le", "ucs-2": "utf16le", "utf16le": "utf16le", "utf-16le": "utf16le",
}

// encodingName returns the canonical name of an encoding. undefined and null mean UTF-8. It throws if there is no
// such encoding.
func (p *Platform) encodingName(v goja.Value) string {
	if goja.IsUndefined(v) || goja.IsNull(v) {
		return "utf8"
	}
	name, ok := encodings[strings.ToLower(v.String())]
	if !ok {
		p.fail("TypeError", "ERR_UNKNOWN_ENCODING", "Unknown encoding: %s; utf8, hex, base64, base64url, latin1, ascii and utf16le are known", v.String())
	}
	return name
}

// textOf converts v to a text as String(v) does. goja's ToString returns undefined and null unchanged.
func textOf(r *goja.Runtime, v goja.Value) goja.String {
	if s, ok := v.ToString().(goja.String); ok {
		return s
	}
	return r.ToValue(v.String()).(goja.String)
}

// encodeText returns the bytes of a text in the given encoding. The name of the encoding must be canonical.
func (p *Platform) encodeText(v goja.Value, encoding string) []byte {
	s := textOf(p.js, v)
	p.checkSize(int64(s.Length()), "text")
	switch encoding {
	case "latin1", "ascii":
		b := make([]byte, s.Length())
		for i := range b {
			b[i] = byte(s.CharAt(i))
		}
		return b
	case "utf16le":
		b := make([]byte, 0, 2*s.Length())
		for i := range s.Length() {
			c := s.CharAt(i)
			b = append(b, byte(c), byte(c>>8))
		}
		return b
	case "hex":
		return unhex(s.String())
	case "base64", "base64url":
		return unbase64(s.String())
	}
	return []byte(s.String())
}

// unhex decodes pairs of hexadecimal digits. At the first invalid pair, it stops and returns the bytes before.
func unhex(s string) []byte {
	b := make([]byte, len(s)/2)
	n, _ := hex.Decode(b, []byte(s[:len(s)&^1]))
	return b[:n]
}

// unbase64 decodes base64 in both alphabets (+/ and -_). It stops at the padding and ignores other characters.
func unbase64(s string) []byte {
	if at := strings.IndexByte(s, '='); at >= 0 {
		s = s[:at]
	}
	clean := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			clean = append(clean, c)
		case c == '-':
			clean = append(clean, '+')
		case c == '_':
			clean = append(clean, '/')
		}
	}
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1]
	}
	b := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, _ := base64.RawStdEncoding.Decode(b, clean)
	return b[:n]
}

// decodeBytes returns the text for bytes in the given encoding. The name of the encoding must be canonical.
func (p *Platform) decodeBytes(b []byte, encoding string) goja.Value {
	p.checkSize(int64(len(b)), "text")
	switch encoding {
	case "hex":
		return p.js.ToValue(hex.EncodeToString(b))
	case "base64":
		return p.js.ToValue(base64.StdEncoding.EncodeToString(b))
	case "base64url":
		return p.js.ToValue(base64.RawURLEncoding.EncodeToString(b))
	case "latin1", "ascii":
		units := make([]uint16, len(b))
		for i, c := range b {
			if encoding == "ascii" {
				c &= 0x7f
			}
			units[i] = uint16(c)
		}
		return goja.StringFromUTF16(units)
	case "utf16le":
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
		}
		return goja.StringFromUTF16(units)
	}
	s, _ := validUTF8(b)
	return p.js.ToValue(s)
}

// atob and btoa return the global functions of these names. In the decoded text, each character stands for one byte.
func atob(p *Platform) goja.Value {
	return p.newFunction("atob", func(call goja.FunctionCall) goja.Value {
		s := strings.Map(func(c rune) rune {
			if strings.ContainsRune(" \t\n\r\f", c) {
				return -1
			}
			return c
		}, call.Argument(0).String())
		if len(s)%4 == 0 {
			s = strings.TrimSuffix(strings.TrimSuffix(s, "="), "=")
		}
		b, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil {
			panic(p.domException("InvalidCharacterError", "atob: the text is no base64"))
		}
		return p.decodeBytes(b, "latin1")
	})
}

func btoa(p *Platform) goja.Value {
	return p.newFunction("btoa", func(call goja.FunctionCall) goja.Value {
		s := textOf(p.js, call.Argument(0))
		for i := range s.Length() {
			if s.CharAt(i) > 0xff {
				panic(p.domException("InvalidCharacterError", "btoa: the text has characters above U+00FF; encode it first: Buffer.from(text).toString('base64')"))
			}
		}
		return p.decodeBytes(p.encodeText(s, "latin1"), "base64")
	})
}

// domException returns a new DOMException with a name such as "DataCloneError".
func (p *Platform) domException(name, message string) goja.Value {
	class := p.Module("#event").(*goja.Object).Get("DOMException")
	o, err := p.js.New(class, p.js.ToValue(message), p.js.ToValue(name))
	must(err)
	return o
}
