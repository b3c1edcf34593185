package platform

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// byteFunctions implements the native functions of the module buffer that read or change the bytes of one Buffer.
type byteFunctions struct{ *Platform }

// bufferNative returns the Go functions for the file modules/buffer.js: encodings, allocation, and operations on
// bytes.
func bufferNative(p *Platform) goja.Value {
	single := byteFunctions{p}
	return p.newNatives(natives{
		"alloc": func(call goja.FunctionCall) goja.Value {
			return p.arrayBuffer(p.allocate(call.Argument(0).ToInteger(), "Buffer"))
		},
		"encode": func(call goja.FunctionCall) goja.Value {
			return p.arrayBuffer(p.encodeText(call.Argument(0), p.encodingName(call.Argument(1))))
		},
		"decode": func(call goja.FunctionCall) goja.Value {
			return p.decodeBytes(p.needBytes(call.Argument(0), "toString"), p.encodingName(call.Argument(1)))
		},
		"length": func(call goja.FunctionCall) goja.Value {
			return p.js.ToValue(len(p.encodeText(call.Argument(0), p.encodingName(call.Argument(1)))))
		},
		"known": func(call goja.FunctionCall) goja.Value {
			_, ok := encodings[textArgument(call, 0)]
			return p.js.ToValue(ok)
		},
		"methods": func(call goja.FunctionCall) goja.Value {
			to, from := call.Argument(0).ToObject(p.js), call.Argument(1).ToObject(p.js)
			for _, k := range from.Keys() {
				must(to.DefineDataProperty(k, from.Get(k), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
			}
			return goja.Undefined()
		},
		"className": func(call goja.FunctionCall) goja.Value {
			o, _ := call.Argument(0).(*goja.Object)
			return p.js.ToValue(cmpOr(p.newInspector(InspectOptions{}).className(o), "Object"))
		},
		"compare": func(call goja.FunctionCall) goja.Value {
			return p.js.ToValue(bytes.Compare(p.needBytes(call.Argument(0), "compare"), p.needBytes(call.Argument(1), "compare")))
		},
		"find": single.findBytes, "fill": single.fillBytes, "write": single.writeText, "swap": single.swapBytes,
		"get": single.getNumber, "set": single.setNumber,
		"isUtf8": func(call goja.FunctionCall) goja.Value {
			return p.js.ToValue(utf8.Valid(p.needBytes(call.Argument(0), "isUtf8")))
		},
		"limit": func(goja.FunctionCall) goja.Value { return p.js.ToValue(p.limit()) },
	})
}

// Buffer returns a JavaScript Buffer with b as its memory. The caller must not use b afterwards.
func (p *Platform) Buffer(b []byte) goja.Value {
	from, _ := goja.AssertFunction(p.Module("buffer").(*goja.Object).Get("Buffer").(*goja.Object).Get("from"))
	v, err := from(goja.Undefined(), p.arrayBuffer(b))
	must(err)
	return v
}

// findBytes implements find(bytes, wanted, from, last). It returns the first position of wanted at or after from. If
// last is true, it returns the last position at or before from. It returns -1 if there is none.
func (p byteFunctions) findBytes(call goja.FunctionCall) goja.Value {
	all, wanted := p.needBytes(call.Argument(0), "indexOf"), p.needBytes(call.Argument(1), "indexOf")
	from := int(call.Argument(2).ToInteger())
	if call.Argument(3).ToBoolean() {
		end := min(len(all), from+len(wanted))
		if from < 0 {
			return p.js.ToValue(-1)
		}
		return p.js.ToValue(bytes.LastIndex(all[:end], wanted))
	}
	from = min(max(from, 0), len(all))
	at := bytes.Index(all[from:], wanted)
	if at >= 0 {
		at += from
	}
	return p.js.ToValue(at)
}

// fillBytes implements fill(bytes, pattern). It fills bytes with repetitions of pattern.
func (p byteFunctions) fillBytes(call goja.FunctionCall) goja.Value {
	to, what := p.needBytes(call.Argument(0), "fill"), p.needBytes(call.Argument(1), "fill")
	if len(what) == 0 {
		clear(to)
		return goja.Undefined()
	}
	for n := copy(to, what); n < len(to); n *= 2 {
		copy(to[n:], to[:n])
	}
	return goja.Undefined()
}

// writeText implements write(bytes, text, encoding). It writes as many whole characters of the encoded text as fit,
// and returns the number of bytes that it has written.
func (p byteFunctions) writeText(call goja.FunctionCall) goja.Value {
	to, encoding := p.needBytes(call.Argument(0), "write"), p.encodingName(call.Argument(2))
	b := p.encodeText(call.Argument(1), encoding)
	if len(b) > len(to) {
		b = b[:len(to)]
		switch encoding {
		case "utf8":
			b = b[:len(b)-openUTF8(b)]
		case "utf16le":
			b = b[:len(b)&^1]
		}
	}
	return p.js.ToValue(copy(to, b))
}

// swapBytes implements swap(bytes, size). It reverses the order of the bytes in each group of size bytes.
func (p byteFunctions) swapBytes(call goja.FunctionCall) goja.Value {
	b, size := p.needBytes(call.Argument(0), "swap"), int(call.Argument(1).ToInteger())
	for at := 0; at+size <= len(b); at += size {
		for i, j := at, at+size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
	return goja.Undefined()
}

// widenBytes extends a number to eight bytes, with the most significant byte first. If little is true, the least
// significant byte is first in b.
func widenBytes(b []byte, little bool) (w [8]byte) {
	for i, c := range b {
		if little {
			w[7-i] = c
		} else {
			w[8-len(b)+i] = c
		}
	}
	return w
}

// getNumber implements get(bytes, offset, size, little, kind), which reads a number. The kind is u (unsigned), i
// (signed) or f (floating point); U and I return a BigInt. The JavaScript code checks the offset before the call and
// throws the error of Node.js.
func (p byteFunctions) getNumber(call goja.FunctionCall) goja.Value {
	b := p.needBytes(call.Argument(0), "read")
	at, size := int(call.Argument(1).ToInteger()), int(call.Argument(2).ToInteger())
	if at < 0 || size < 1 || size > 8 || at+size > len(b) {
		p.fail("RangeError", "ERR_OUT_OF_RANGE", "the offset %d is outside of the buffer", at)
	}
	w := widenBytes(b[at:at+size], call.Argument(3).ToBoolean())
	n := binary.BigEndian.Uint64(w[:])
	signed := int64(n<<(64-8*size)) >> (64 - 8*size)
	switch textArgument(call, 4) {
	case "i":
		return p.js.ToValue(signed)
	case "U":
		return p.js.ToValue(new(big.Int).SetUint64(n))
	case "I":
		return p.js.ToValue(big.NewInt(signed))
	case "f":
		if size == 4 {
			return p.js.ToValue(float64(math.Float32frombits(uint32(n))))
		}
		return p.js.ToValue(math.Float64frombits(n))
	}
	return p.js.ToValue(int64(n))
}

// setNumber implements set(bytes, offset, size, little, kind, value), which writes a number; see getNumber.
func (p byteFunctions) setNumber(call goja.FunctionCall) goja.Value {
	b := p.needBytes(call.Argument(0), "write")
	at, size := int(call.Argument(1).ToInteger()), int(call.Argument(2).ToInteger())
	if at < 0 || size < 1 || size > 8 || at+size > len(b) {
		p.fail("RangeError", "ERR_OUT_OF_RANGE", "the offset %d is outside of the buffer", at)
	}
	var n uint64
	v := call.Argument(5)
	switch textArgument(call, 4) {
	case "f":
		if n = math.Float64bits(v.ToFloat()); size == 4 {
			n = uint64(math.Float32bits(float32(v.ToFloat())))
		}
	case "U", "I":
		i, ok := v.Export().(*big.Int)
		if !ok {
			p.fail("TypeError", "ERR_INVALID_ARG_TYPE", "the value must be a BigInt")
		}
		n = new(big.Int).And(i, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	default:
		n = uint64(int64(v.ToFloat()))
	}
	for i := range size {
		c := byte(n >> (8 * i))
		if call.Argument(3).ToBoolean() {
			b[at+i] = c
		} else {
			b[at+size-1-i] = c
		}
	}
	return goja.Undefined()
}
