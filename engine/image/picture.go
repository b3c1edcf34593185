package image

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"restsrv/engine"
)

// format is a supported image format.
type format struct {
	magic  string // first bytes; ? matches any byte
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	cost   func(p *picture) float64 // bytes per pixel while it is decoded
}

// allFormats returns all supported formats.
func allFormats() []format {
	return []format{
		{"\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode, jpegCost},
		{"\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode, pngCost},
		{"GIF8?a", gif.DecodeConfig, gif.Decode, func(*picture) float64 { return 2 }},
		{"RIFF????WEBPVP8", webp.DecodeConfig, webp.Decode, func(*picture) float64 { return 8 }},
	}
}

// headerBytes is the number of bytes in which the size of an image must be found.
const headerBytes = 4 << 20

// picture has the properties of an image that are known before it is decoded.
type picture struct {
	format        format
	width, height int
	model         color.Model
	head          []byte // first bytes
	jpeg          jpegHead
}

// readHead reads the head of a content. If it is not a supported image, the error is
// unusable.
func readHead(content io.ReadSeeker) (*picture, error) {
	head := make([]byte, 64)
	n, err := io.ReadFull(content, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	head = head[:n]
	for _, f := range allFormats() {
		if !hasMagic(head, f.magic) {
			continue
		}
		p := &picture{format: f, head: head}
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		c, err := recoverPanic(func() (image.Config, error) { return f.config(io.LimitReader(content, headerBytes)) })
		if err != nil || c.Width <= 0 || c.Height <= 0 {
			return nil, unusableError("a picture that cannot be read")
		}
		p.width, p.height, p.model = c.Width, c.Height, c.ColorModel
		if f.magic[0] == 0xff {
			if _, err := content.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			p.jpeg = readJPEGHead(bufio.NewReader(io.LimitReader(content, headerBytes)))
		}
		return p, nil
	}
	return nil, unusableError("no JPEG, PNG, GIF or WebP")
}

func hasMagic(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != head[i] {
			return false
		}
	}
	return true
}

// estimateMemory estimates the number of bytes in use while a thumbnail is made: for the
// decoded image, half its size, and the thumbnail, which may be rotated.
func (p *picture) estimateMemory(k engine.ThumbnailKind) int64 {
	const (
		block  = 32  // decoders round sizes up to this
		halved = 1.4 // bytes per pixel: a quarter of four, and further reductions
		turned = 8   // bytes per pixel of two thumbnails
	)
	w, h := float64(p.width+block-1), float64(p.height+block-1)
	area := func(k engine.ThumbnailKind) float64 {
		w, h := fitSize(p.width, p.height, k)
		return float64(w) * float64(h)
	}
	small := max(area(k), area(engine.ThumbnailKind{Width: k.Height, Height: k.Width})) // it may be rotated by 90 degrees
	return int64(w*h*(p.format.cost(p)+halved)+small*turned) + 1<<20
}

// pngCost also counts the passes of an interlaced image. It assumes that a gray
// image has a transparent color, because that is declared after the part that
// readHead reads.
func pngCost(p *picture) float64 {
	const nameAt, interlaceAt = 12, 28 // offsets in the chunk IHDR, which should come first
	cost := bytesOf(p.model)
	if p.model == color.GrayModel || p.model == color.Gray16Model {
		cost *= 4
	}
	if len(p.head) <= interlaceAt || string(p.head[nameAt:nameAt+4]) != "IHDR" || p.head[interlaceAt] != 0 {
		cost *= 2
	}
	return cost
}

func bytesOf(m color.Model) float64 {
	switch m {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

// thumbnail returns an encoded thumbnail of the picture in content.
func (p *picture) thumbnail(ctx context.Context, content io.ReadSeeker, k engine.ThumbnailKind) ([]byte, error) {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	from := &source{ctx: ctx, r: content}
	full, err := recoverPanic(func() (image.Image, error) { return p.format.decode(bufio.NewReaderSize(from, 64<<10)) })
	if err := cmp.Or(ctx.Err(), from.failed); err != nil {
		return nil, err
	}
	if err != nil || full.Bounds().Empty() {
		return nil, unusableError("a picture that cannot be read")
	}
	small, err := scale(ctx, full, k, p.jpeg.orientation)
	if err != nil {
		return nil, err
	}
	return encode(small, k.Format)
}

// source stops reading when its context ends, and separates errors of the disk
// from errors of the image.
type source struct {
	ctx    context.Context
	r      io.Reader
	failed error
}

func (s *source) Read(b []byte) (n int, err error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if n, err = s.r.Read(b); err != nil && err != io.EOF {
		s.failed = err
	}
	return n, err
}

// recoverPanic converts a panic of a decoder to an error.
func recoverPanic[T any](decode func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder panicked: %v", p)
		}
	}()
	return decode()
}

// quality is the quality of JPEG thumbnails.
const quality = 85

func encode(small *image.RGBA, format string) ([]byte, error) {
	var b bytes.Buffer
	if format == "" && small.Opaque() {
		format = "jpeg"
	}
	if format != "jpeg" {
		err := png.Encode(&b, small)
		return b.Bytes(), err
	}
	err := jpeg.Encode(&b, onWhite(small), &jpeg.Options{Quality: quality})
	return b.Bytes(), err
}
