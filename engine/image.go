package engine

import (
	"context"
	"io"
	"net/url"
)

// ThumbnailKind describes how thumbnails of a kind are made.
type ThumbnailKind struct {
	Name   string
	Width  int    // maximum width in pixels; 0 if only the height is limited
	Height int    // maximum height in pixels; 0 if only the width is limited
	Format string // "jpeg" or "png"; "" for JPEG if the image is opaque, else PNG
}

// Thumbnail is a small picture of a stored image.
type Thumbnail struct {
	Content  io.ReadSeekCloser
	MimeType string // image/jpeg or image/png
	Tag      string // differs between different pictures; safe in an ETag
}

// ImageStorage is a FileStorage with thumbnails of the stored images. Package
// engine/image creates them.
type ImageStorage interface {
	FileStorage

	// Kinds returns the kinds of thumbnails, in the order that answers use.
	Kinds() []ThumbnailKind

	// Thumbnail returns the thumbnail of a file, which the caller must close. The
	// first call for a thumbnail creates it. Permissions are not checked. Errors:
	// NotFound for an unknown kind and for a file of which no thumbnail can be
	// made; Unavailable if too many requests wait; Timeout.
	Thumbnail(ctx context.Context, f StoredFile, kind string) (*Thumbnail, error)
}

// UnknownThumbnail returns the error for an unknown kind.
func UnknownThumbnail(kind string) *Error {
	return Errorf(NotFound, "unknown-thumbnail", "there is no thumbnail %s", Quote(kind))
}

// imagePath is the path of thumbnails; the name of the kind follows.
const imagePath = "/images/"

// ImageAnswer returns the value of an image attribute in the form of answers: that
// of a file, with the file itself and the thumbnails of all kinds.
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
