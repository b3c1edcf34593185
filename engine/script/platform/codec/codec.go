// Package codec compresses and decompresses bytes that arrive in chunks, in the formats gzip (RFC 1952), zlib
// (RFC 1950) and deflate (RFC 1951). Package platform uses it for CompressionStream, DecompressionStream and the
// module zlib.
//
// A Codec works in small steps: Write accepts a chunk, and each Read processes a part of it and returns a piece of the
// result. So the caller decides how much memory the result takes, and a script that processes a large chunk can be
// interrupted between two steps.
package codec

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"iter"
	"runtime"
)

// Format is a format of compressed data.
type Format int

// The formats. Auto stands for gzip or zlib when reading, depending on the first byte.
const (
	Gzip Format = iota
	Zlib
	Deflate
	Auto
)

// pieceBytes is the size of the parts in which a Codec processes its input, and the maximum size of a decompressed piece.
const pieceBytes = 64 << 10

// Errors of decompression. Other errors mean that the data is not in the format.
var (
	ErrTruncated = errors.New("the compressed data ends too early")
	ErrTrailing  = errors.New("there is data after the end of the compressed data")
	ErrClosed    = errors.New("the codec is closed")
)

// Codec compresses or decompresses. It is not safe for concurrent use.
type Codec interface {
	// Write sets the next chunk of the input. The previous chunk must have been processed: Read has returned io.ErrNoProgress.
	// The Codec uses b until then, without a copy.
	Write(b []byte) error
	// Close marks the end of the input.
	Close()
	// Read returns the next piece of the result, which the caller owns. The error is io.ErrNoProgress if the Codec
	// needs more input, and io.EOF at the end.
	Read() ([]byte, error)
}

// compressor implements Codec.
type compressor struct {
	to     io.WriteCloser
	out    bytes.Buffer
	in     []byte
	closed bool // Close was called
	ended  bool // the end of the format has been written
}

// NewCompressor returns a Codec that compresses. level is a level of compress/flate: -2 to 9, where -1 is the default.
// dictionary is a preset dictionary, or nil; gzip has none.
func NewCompressor(f Format, level int, dictionary []byte) (Codec, error) {
	c := &compressor{}
	var err error
	switch f {
	case Gzip:
		c.to, err = gzip.NewWriterLevel(&c.out, level)
	case Zlib:
		c.to, err = zlib.NewWriterLevelDict(&c.out, level, dictionary)
	default:
		c.to, err = flate.NewWriterDict(&c.out, level, dictionary)
	}
	return c, err
}

// Write implements Codec.
func (c *compressor) Write(b []byte) error {
	if c.closed {
		return ErrClosed
	}
	c.in = b
	return nil
}

// Close implements Codec.
func (c *compressor) Close() { c.closed = true }

// Read implements Codec.
func (c *compressor) Read() ([]byte, error) {
	for c.out.Len() == 0 && len(c.in) > 0 {
		n := min(len(c.in), pieceBytes)
		if _, err := c.to.Write(c.in[:n]); err != nil {
			return nil, err
		}
		c.in = c.in[n:]
	}
	if c.out.Len() == 0 && c.closed && !c.ended {
		c.ended = true
		if err := c.to.Close(); err != nil {
			return nil, err
		}
	}
	if c.out.Len() > 0 {
		b := bytes.Clone(c.out.Bytes())
		c.out.Reset()
		return b, nil
	}
	if c.ended {
		return nil, io.EOF
	}
	c.in = nil
	return nil, io.ErrNoProgress
}

// decompressor implements Codec. The readers of the standard library pull their input, so they run in a coroutine,
// which stops when the input is used up.
type decompressor struct {
	core *core
	next func() ([]byte, error, bool)
	err  error // the final error, io.EOF at the end
}

// core is the part of a decompressor that the coroutine uses. It does not refer to the decompressor: when the
// decompressor is unreachable, the coroutine ends.
type core struct {
	format     Format
	dictionary []byte
	in         []byte
	closed     bool
	strict     bool // data after the end is an error
	yield      func([]byte, error) bool
}

// NewDecompressor returns a Codec that decompresses. If strict is true, data after the end is an error, as in
// DecompressionStream. Otherwise it is ignored, except after gzip data: there it is another member or padding.
func NewDecompressor(f Format, dictionary []byte, strict bool) Codec {
	c := &core{format: f, dictionary: bytes.Clone(dictionary), strict: strict}
	next, stop := iter.Pull2(c.run)
	d := &decompressor{core: c, next: next}
	runtime.AddCleanup(d, func(stop func()) { stop() }, stop)
	return d
}

// Write implements Codec.
func (d *decompressor) Write(b []byte) error {
	if d.core.closed {
		return ErrClosed
	}
	d.core.in = b
	if d.err == io.EOF && d.core.strict && len(b) > 0 {
		d.err = ErrTrailing
	}
	return nil
}

// Close implements Codec.
func (d *decompressor) Close() { d.core.closed = true }

// Read implements Codec.
func (d *decompressor) Read() ([]byte, error) {
	if d.err == io.EOF && !d.core.closed {
		d.core.in = nil // data after the end
		return nil, io.ErrNoProgress
	}
	if d.err != nil {
		return nil, d.err
	}
	b, err, ok := d.next()
	if !ok {
		err = io.EOF
	}
	if err == io.EOF && d.core.strict && len(d.core.in) > 0 {
		err = ErrTrailing
	}
	if err == nil || err == io.ErrNoProgress {
		return b, err
	}
	d.err = err
	return d.Read()
}

// run is the coroutine. It yields pieces, and errors of the kinds that Codec.Read returns.
func (c *core) run(yield func([]byte, error) bool) {
	c.yield = yield
	err := c.decompress()
	switch {
	case err == errStopped:
		return
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrTruncated
	}
	yield(nil, err)
}

// errStopped means that the decompressor is not used any more.
var errStopped = errors.New("stopped")

// decompress yields the pieces. It returns nil or io.EOF at the end.
func (c *core) decompress() error {
	r, err := c.open()
	if err == io.EOF {
		return ErrTruncated
	}
	if err != nil {
		return err
	}
	buf := make([]byte, pieceBytes)
	for {
		n, err := r.Read(buf)
		if n > 0 && !c.yield(bytes.Clone(buf[:n]), nil) {
			return errStopped
		}
		if err == io.EOF && c.format == Gzip && !c.strict && c.hasMember() {
			if err := c.openMember(r.(*gzip.Reader)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
	}
}

// open returns a reader that decompresses. It reads the header.
func (c *core) open() (io.Reader, error) {
	if c.format == Auto {
		if !c.wait() {
			return nil, io.EOF
		}
		c.format = Zlib
		if c.in[0] == 0x1f {
			c.format = Gzip
		}
	}
	switch c.format {
	case Gzip:
		r := new(gzip.Reader)
		return r, c.openMember(r)
	case Zlib:
		return zlib.NewReaderDict(c, c.dictionary)
	}
	return flate.NewReaderDict(c, c.dictionary), nil
}

// openMember makes r read the next member of gzip data. A wrong first byte is reported even if the header is not complete.
func (c *core) openMember(r *gzip.Reader) error {
	if c.wait() && c.in[0] != 0x1f {
		return gzip.ErrHeader
	}
	err := r.Reset(c)
	if err == nil {
		r.Multistream(false)
	}
	return err
}

// hasMember reports whether another member of gzip data follows. As in Node.js, data that begins with a zero byte is
// padding, which is ignored.
func (c *core) hasMember() bool { return c.wait() && c.in[0] != 0 }

// wait waits for input. It returns false at the end of the input.
func (c *core) wait() bool {
	for len(c.in) == 0 {
		if c.closed || !c.yield(nil, io.ErrNoProgress) {
			return false
		}
	}
	return true
}

// Read implements io.Reader for the decompressing reader.
func (c *core) Read(p []byte) (int, error) {
	if !c.wait() {
		return 0, io.EOF
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

// ReadByte implements io.ByteReader, so that the decompressing reader does not read beyond the end of its data.
func (c *core) ReadByte() (byte, error) {
	if !c.wait() {
		return 0, io.EOF
	}
	b := c.in[0]
	c.in = c.in[1:]
	return b, nil
}
