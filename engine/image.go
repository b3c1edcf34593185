package engine

import (
	"context"
	"io"
	"net/url"
)

// ThumbnailKind says how small pictures of images are made (iondv-data.md
// section 2.5).
type ThumbnailKind struct {
	Name   string
	Width  int    // at most so many pixels; 0 for as many as the height gives
	Height int    // and so many; 0 for as many as the width gives
	Format string // "jpeg" or "png"; "" for JPEG of what is opaque, PNG of what is not
}

// Thumbnail is a small picture of a stored image.
type Thumbnail struct {
	Content  io.ReadSeekCloser
	MimeType string // image/jpeg or image/png
	Tag      string // others for other pictures; harmless in an ETag
}

// ImageStorage is a FileStorage that has thumbnails of the images in it. Package
// engine/image makes them.
type ImageStorage interface {
	FileStorage

	// Kinds are the kinds of thumbnails, in the order in which answers have them.
	Kinds() []ThumbnailKind

	// Thumbnail returns the thumbnail of a file, which it makes when it is asked
	// for the first time; the caller closes it. It asks for no permission. Errors:
	// NotFound for a kind that there is not, and for a file of which none can be
	// made; Unavailable when too many wait; Timeout.
	Thumbnail(ctx context.Context, f StoredFile, kind string) (*Thumbnail, error)
}

// UnknownThumbnail is the failure for a kind that there is not.
func UnknownThumbnail(kind string) *Error {
	return Errorf(NotFound, "unknown-thumbnail", "there is no thumbnail %s", Quote(kind))
}

// imagePath is where thumbnails are served, below the name of their kind.
const imagePath = "/images/"

// ImageAnswer is the value of an image attribute as answers have it: that of a
// file, with the file itself and the thumbnails of the kinds.
func ImageAnswer(v any, kinds []ThumbnailKind) JSONText { return JSONText(appendImage(nil, v, kinds)) }

func appendImage(b []byte, v any, kinds []ThumbnailKind) []byte {
	files := FilesIn(v)
	if len(files) != 1 {
		return appendFiles(b, v)
	}
	f := files[0]
	b = f.appendJSON(b)
	b = append(f.appendJSON(append(b[:len(b)-1], `,"file":`...)), `,"thumbnails":{`...)
	for i, kind := range kinds {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, kind.Name), ':')
		b = AppendString(append(b, `{"id":`...), f.ID+"_"+kind.Name)
		b = AppendString(append(b, `,"name":`...), f.title())
		b = AppendString(append(b, `,"link":`...), imagePath+url.PathEscape(kind.Name)+"/"+url.PathEscape(f.ID))
		if b = f.appendOptions(append(b, `,"options":{`...)); b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(AppendString(append(b, `"thumbType":`...), kind.Name), "}}"...)
	}
	return append(b, "}}"...)
}
