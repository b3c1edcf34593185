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
	magic  string // first bytes of a file; ? matches any byte
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	cost   func(p *picture) float64 // memory in bytes per pixel while the image is decoded
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

// headerBytes is the number of bytes at the beginning of a file that must contain the size of the image.
const headerBytes = 4 << 20

// picture contains the properties of an image that are known before it is decoded.
type picture struct {
	format        format
	width, height int
	model         color.Model
	head          []byte // first bytes of the file
	jpeg          jpegHead
}

// readHead reads the properties of an image. If the content is not a supported image, the error is of type unusable.
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

// estimateMemory returns the number of bytes that are needed to make a thumbnail of the kind k. They hold the decoded
// image, the image at half its size, and the thumbnail, which may have to be rotated.
func (p *picture) estimateMemory(k engine.ThumbnailKind) int64 {
	const (
		block  = 32  // decoders round the width and height up to a multiple of this
		halved = 1.4 // bytes per pixel: a quarter of the pixels with four bytes, and further halvings
		turned = 8   // bytes per pixel for two thumbnails
	)
	w, h := float64(p.width+block-1), float64(p.height+block-1)
	area := func(k engine.ThumbnailKind) float64 {
		w, h := fitSize(p.width, p.height, k)
		return float64(w) * float64(h)
	}
	small := max(area(k), area(engine.ThumbnailKind{Width: k.Height, Height: k.Width})) // the image may be rotated by 90 degrees
	return int64(w*h*(p.format.cost(p)+halved)+small*turned) + 1<<20
}

// pngCost returns the memory for decoding a PNG, in bytes per pixel. It counts an interlaced
// image twice, because the decoder handles it in passes. readHead does not read far enough to
// know whether a gray image has a transparent color, so pngCost assumes that it has one.
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

// thumbnail decodes the image in content and returns the thumbnail of the kind k in its file format.
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

// source is a reader that returns an error when its context has ended. It records the errors of
// r, to distinguish errors of the disk from errors of a malformed image.
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

// recoverPanic calls decode. If decode panics, it returns an error.
func recoverPanic[T any](decode func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder panicked: %v", p)
		}
	}()
	return decode()
}

// quality is the quality of JPEG thumbnails, from 1 to 100.
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
