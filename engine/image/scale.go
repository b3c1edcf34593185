package image

import (
	"context"
	"image"

	"golang.org/x/image/draw"

	"restsrv/engine"
)

// fitSize returns the size of a thumbnail: the largest size that k allows with the proportions of w × h. It is never
// larger than w × h.
func fitSize(w, h int, k engine.ThumbnailKind) (int, int) {
	ratio := 1.0
	if k.Width > 0 {
		ratio = min(ratio, float64(k.Width)/float64(w))
	}
	if k.Height > 0 {
		ratio = min(ratio, float64(k.Height)/float64(h))
	}
	round := func(n int) int { return max(1, int(float64(n)*ratio+0.5)) }
	return round(w), round(h)
}

// scale reduces an image to the size of the kind k and rotates it according to its orientation.
// First it halves the image until the image is less than twice as large as the thumbnail. Then it
// scales the image to the final size. Bilinear scaling to half the size uses every pixel; a
// larger step would skip pixels. The largest intermediate image has a quarter of the pixels of
// the original.
func scale(ctx context.Context, full image.Image, k engine.ThumbnailKind, orientation int) (*image.RGBA, error) {
	if orientation > 4 {
		k.Width, k.Height = k.Height, k.Width
	}
	size := full.Bounds().Size()
	w, h := fitSize(size.X, size.Y, k)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next := image.Pt(w, h)
		if size.X >= 2*w {
			next.X = max(w, size.X/2)
		}
		if size.Y >= 2*h {
			next.Y = max(h, size.Y/2)
		}
		half := image.NewRGBA(image.Rectangle{Max: next})
		draw.ApproxBiLinear.Scale(half, half.Rect, full, full.Bounds(), draw.Src, nil)
		if full, size = half, next; size.X == w && size.Y == h {
			return orientImage(half, orientation), nil
		}
	}
}

// orientImage rotates and mirrors an image according to its EXIF orientation, a number from 1 to 8.
func orientImage(m *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return m
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	turned := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation > 4 {
		turned = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			to := image.Pt(x, y)
			switch orientation {
			case 2:
				to.X = w - 1 - x
			case 3:
				to = image.Pt(w-1-x, h-1-y)
			case 4:
				to.Y = h - 1 - y
			case 5:
				to = image.Pt(y, x)
			case 6:
				to = image.Pt(h-1-y, x)
			case 7:
				to = image.Pt(h-1-y, w-1-x)
			case 8:
				to = image.Pt(y, w-1-x)
			}
			turned.SetRGBA(to.X, to.Y, m.RGBAAt(x, y))
		}
	}
	return turned
}

// onWhite returns the image on a white background, for formats without transparency.
func onWhite(m *image.RGBA) *image.RGBA {
	if m.Opaque() {
		return m
	}
	white := image.NewRGBA(m.Rect)
	draw.Draw(white, white.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(white, white.Rect, m, image.Point{}, draw.Over)
	return white
}
