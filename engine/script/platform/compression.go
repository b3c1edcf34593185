package platform

import (
	"errors"
	"hash/crc32"
	"io"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/codec"
)

// compressionFormats maps the formats of the standard Compression, and the format auto of the module zlib, to those of
// package codec.
var compressionFormats = map[string]codec.Format{
	"gzip": codec.Gzip, "deflate": codec.Zlib, "deflate-raw": codec.Deflate, "auto": codec.Auto,
}

// compressionNative returns the Go functions for the files modules/streams.js and modules/zlib.js:
//
//   - compressor(format, level, dictionary) and decompressor(format, strict, dictionary), which return an object with
//     write(bytes), close(), and read(). read returns an ArrayBuffer, null if more input is needed, or undefined at
//     the end.
//   - crc32(bytes, start), join(parts), and limit(), the maximum size of a result.
func compressionNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"compressor": func(call goja.FunctionCall) goja.Value {
			level := -1
			if v := call.Argument(1); !goja.IsUndefined(v) {
				level = int(v.ToInteger())
			}
			c, err := codec.NewCompressor(compressionFormats[call.Argument(0).String()], level, dictionaryOf(p, call.Argument(2)))
			if err != nil {
				p.fail("RangeError", "ERR_OUT_OF_RANGE", "zlib: %v", err)
			}
			return newCodecObject(p, c)
		},
		"decompressor": func(call goja.FunctionCall) goja.Value {
			strict := goja.IsUndefined(call.Argument(1)) || call.Argument(1).ToBoolean()
			return newCodecObject(p, codec.NewDecompressor(compressionFormats[call.Argument(0).String()], dictionaryOf(p, call.Argument(2)), strict))
		},
		"crc32": func(call goja.FunctionCall) goja.Value {
			return p.js.ToValue(crc32.Update(uint32(call.Argument(1).ToInteger()), crc32.IEEETable, p.needBytes(call.Argument(0), "crc32")))
		},
		"join":  fetcher{p}.joinBytes,
		"limit": func(goja.FunctionCall) goja.Value { return p.js.ToValue(p.limit()) },
	})
}

func dictionaryOf(p *Platform, v goja.Value) []byte {
	if goja.IsUndefined(v) {
		return nil
	}
	return p.needBytes(v, "dictionary")
}

func newCodecObject(p *Platform, c codec.Codec) goja.Value {
	return p.newNatives(natives{
		"write": func(call goja.FunctionCall) goja.Value {
			if err := c.Write(p.needBytes(call.Argument(0), "write")); err != nil {
				failCodec(p, err)
			}
			return nil
		},
		"close": func(goja.FunctionCall) goja.Value {
			c.Close()
			return nil
		},
		"read": func(goja.FunctionCall) goja.Value {
			b, err := c.Read()
			switch err {
			case nil:
				return p.arrayBuffer(b)
			case io.ErrNoProgress:
				return goja.Null()
			case io.EOF:
				return nil
			}
			failCodec(p, err)
			return nil
		},
	})
}

// failCodec throws an error with the codes of Node.
func failCodec(p *Platform, err error) {
	text, code, errno := err.Error(), "Z_DATA_ERROR", -3
	switch {
	case errors.Is(err, codec.ErrTruncated):
		text, code, errno = "unexpected end of file", "Z_BUF_ERROR", -5
	case errors.Is(err, codec.ErrTrailing):
		code, errno = "ERR_TRAILING_JUNK_AFTER_STREAM_END", 0
	}
	o := p.newError("Error", code, "%s", text)
	_ = o.Set("errno", errno)
	panic(o)
}
