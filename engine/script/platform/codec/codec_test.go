package codec

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

// feed passes the input to a codec in chunks of the given size, and returns the result, at most most bytes.
func feed(c Codec, in []byte, size, most int) ([]byte, error) {
	var out []byte
	for closed := false; ; {
		b, err := c.Read()
		out = append(out, b...)
		switch {
		case len(out) > most:
			return out, nil
		case err == io.EOF:
			return out, nil
		case err == io.ErrNoProgress && len(in) > 0:
			n := min(size, len(in))
			if err := c.Write(in[:n]); err != nil {
				return out, err
			}
			in = in[n:]
		case err == io.ErrNoProgress && !closed:
			closed = true
			c.Close()
		case err != nil:
			return out, err
		}
	}
}

func compress(t testing.TB, f Format, in []byte) []byte {
	t.Helper()
	c, err := NewCompressor(f, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := feed(c, in, 1000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var formats = map[string]Format{"gzip": Gzip, "zlib": Zlib, "deflate": Deflate}

// TestRoundTrip compresses and decompresses texts in chunks of different sizes.
func TestRoundTrip(t *testing.T) {
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32() >> (i % 8))
	}
	for name, f := range formats {
		for _, text := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("hello "), 50_000), noise} {
			packed := compress(t, f, text)
			for _, size := range []int{1, 7, 4096, 1 << 20} {
				if size == 1 && len(packed) > 10_000 {
					continue
				}
				got, err := feed(NewDecompressor(f, nil, true), packed, size, 1<<30)
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s, %d bytes in chunks of %d: got %d bytes, %v", name, len(text), size, len(got), err)
				}
			}
		}
	}
}

// TestDamage decompresses data that is truncated, damaged, or followed by other data.
func TestDamage(t *testing.T) {
	text := []byte(strings.Repeat("some text ", 100))
	for name, f := range formats {
		packed := compress(t, f, text)
		for n := range packed {
			if _, err := feed(NewDecompressor(f, nil, true), packed[:n], 5, 1<<20); err != ErrTruncated {
				t.Errorf("%s cut after %d bytes: got %v, want %v", name, n, err, ErrTruncated)
			}
		}
		more := append(bytes.Clone(packed), "junk"...)
		for _, size := range []int{1, 1 << 20} {
			if _, err := feed(NewDecompressor(f, nil, true), more, size, 1<<20); !errors.Is(err, ErrTrailing) {
				t.Errorf("%s with data after the end: got %v, want %v", name, err, ErrTrailing)
			}
			padded := append(bytes.Clone(packed), 0, 1, 2)
			if got, err := feed(NewDecompressor(f, nil, false), padded, size, 1<<20); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s with padding, not strict: got %q, %v", name, got, err)
			}
		}
	}
	for _, f := range []Format{Gzip, Zlib} {
		if _, err := feed(NewDecompressor(f, nil, true), []byte("this is no compressed data"), 100, 1<<20); err == nil || err == ErrTruncated {
			t.Errorf("no compressed data: got %v, want an error of the format", err)
		}
	}
	two := append(compress(t, Gzip, []byte("one, ")), compress(t, Gzip, []byte("two"))...)
	for _, size := range []int{1, 1 << 20} {
		if got, err := feed(NewDecompressor(Auto, nil, false), two, size, 1<<20); err != nil || string(got) != "one, two" {
			t.Errorf("two members: got %q, %v", got, err)
		}
	}
}

// TestBombInPieces: the caller of Read decides how much of a large result is made.
func TestBombInPieces(t *testing.T) {
	packed := compress(t, Gzip, make([]byte, 32<<20))
	d := NewDecompressor(Gzip, nil, true)
	if err := d.Write(packed); err != nil {
		t.Fatal(err)
	}
	_, _ = d.Read()
	b, err := d.Read()
	if err != nil || len(b) == 0 || len(b) > pieceBytes {
		t.Errorf("got a piece of %d bytes, %v, want at most %d", len(b), err, pieceBytes)
	}
}

// TestUnusedDecompressors: a decompressor that is not read to its end leaves no goroutine behind.
func TestUnusedDecompressors(t *testing.T) {
	before := runtime.NumGoroutine()
	packed := compress(t, Gzip, []byte(strings.Repeat("x", 1000)))
	for range 100 {
		d := NewDecompressor(Gzip, nil, true)
		_ = d.Write(packed[:len(packed)/2])
		_, _ = d.Read()
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+5 {
		if time.Now().After(deadline) {
			t.Fatalf("got %d goroutines, want about %d", runtime.NumGoroutine(), before)
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}

// FuzzDecompress: damaged data never panics, and produces at most the wanted number of bytes.
func FuzzDecompress(f *testing.F) {
	for _, format := range formats {
		f.Add(compress(f, format, []byte("hello hello hello")), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		for _, format := range []Format{Gzip, Zlib, Deflate, Auto} {
			for _, strict := range []bool{true, false} {
				out, _ := feed(NewDecompressor(format, nil, strict), in, max(1, int(size)), 1<<20)
				if len(out) > 1<<20+pieceBytes {
					t.Errorf("got %d bytes", len(out))
				}
			}
		}
	})
}
