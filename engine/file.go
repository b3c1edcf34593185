package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"sync"
)

// StoredFile describes stored content. A file attribute contains it as JSONText, and a
// list of files contains an array of them. Each attribute of each item has its own ids,
// even for the same content.
type StoredFile struct {
	ID       string `json:"id"` // random, so that clients cannot guess it
	Name     string `json:"name,omitempty"`
	MimeType string `json:"mimeType,omitempty"` // as given by the client; not trusted when the file is served
	Size     int64  `json:"size"`
	Hash     string `json:"hash"` // SHA-256 of the content in hex, by which the storage finds it
}

// Upload is the input of a file attribute.
type Upload struct {
	File    StoredFile // name and type as given by the client, or the id of a stored file
	Content io.Reader  // content to store; nil if File.ID names a stored file
	Stored  bool       // the content is already stored and File describes it; never set from input
}

// HeldFile is a file and the attribute that holds it.
type HeldFile struct {
	StoredFile
	Class     string // full name of the item's class
	Item      string // id of the item
	Attribute string
}

// FileStorage stores the content of files. Package engine/file stores it in a directory.
// Content that no item holds is removed at the end of the request that stored it, or
// after an hour if it was not stored by a request.
type FileStorage interface {
	// Put stores content and returns its description with a new id. It reads content
	// once, without holding all of it in memory. The content is durable when Put returns.
	// Errors: TooLarge, and the errors of reading content.
	Put(ctx context.Context, name, mimeType string, content io.Reader) (StoredFile, error)

	// Open returns the content of a file, found by its hash. The error is NotFound if
	// there is none.
	Open(ctx context.Context, f StoredFile) (io.ReadSeekCloser, error)

	// Find returns the file with that id if an item holds it. It does not check
	// permissions: the caller must check whether the account may read the item. The error
	// is NotFound if no item holds the file.
	Find(ctx context.Context, id string) (HeldFile, error)

	// Hold prevents the removal of a file's content until the request of ctx has ended,
	// even if the file is removed from its item. The error is NotFound if no item holds
	// the file.
	Hold(ctx context.Context, f StoredFile) error

	// Copy returns a description of the same content with a new id. The caller must Hold
	// the file first.
	Copy(f StoredFile) StoredFile
}

// JSON returns the description in the form that file attributes contain.
func (f StoredFile) JSON() JSONText {
	b := AppendString([]byte(`{"id":`), f.ID)
	if f.Name != "" {
		b = AppendString(append(b, `,"name":`...), f.Name)
	}
	if f.MimeType != "" {
		b = AppendString(append(b, `,"mimeType":`...), f.MimeType)
	}
	b = AppendValue(append(b, `,"size":`...), f.Size)
	return JSONText(append(AppendString(append(b, `,"hash":`...), f.Hash), '}'))
}

// FilesIn returns the files that a value of a file attribute or a list of files
// describes. It returns nil for any other value.
func FilesIn(value any) []StoredFile {
	text, _ := value.(JSONText)
	if len(text) == 0 {
		return nil
	}
	var list []StoredFile
	if text[0] == '[' {
		if json.Unmarshal([]byte(text), &list) != nil {
			return nil
		}
		return list
	}
	var one StoredFile
	if json.Unmarshal([]byte(text), &one) != nil || one.ID == "" {
		return nil
	}
	return []StoredFile{one}
}

// IsFile reports whether values of the type describe stored content.
func (t PropertyType) IsFile() bool { return t == File || t == Image || t == FileList }

// castStored accepts the value of a file attribute in its stored form, or as
// Bind made it.
func castStored(v any) (any, bool) {
	switch v := v.(type) {
	case JSONText, *Upload, []*Upload:
		return v, true
	}
	return nil, v == ""
}

// castFile reads the input of a file or of a list of files. The input cannot
// refer to a file of the server's file system: a "path" is ignored.
func (p *Property) castFile(v any) (value any, ok bool, why string) {
	switch v := v.(type) {
	case JSONText, []*Upload:
		return v, true, ""
	case string:
		if v == "" {
			return nil, true, ""
		}
	}
	if p.Type != FileList {
		u, why := uploadOf(v)
		if u == nil {
			return nil, false, why
		}
		return u, true, ""
	}
	v = decodeText(v)
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	uploads := make([]*Upload, 0, len(list))
	for _, e := range list {
		u, why := uploadOf(e)
		if u == nil {
			return nil, false, why
		}
		uploads = append(uploads, u)
	}
	return uploads, true, ""
}

// uploadOf reads the input for one file. A text is the content of the file if it is a data URI, or if it can be
// base64 with its padding. Any other text is the id of a stored file. An id cannot be mistaken for base64, because
// its length is never one that base64 can have. If v is not a file, uploadOf returns nil and, if it knows one, the
// reason.
func uploadOf(v any) (*Upload, string) {
	switch v := v.(type) {
	case *Upload:
		return v, ""
	case string:
		if u := inlineFile(v); u != nil {
			return u, ""
		}
		if v == "" || len(v) > MaxGUID || strings.HasPrefix(v, "data:") {
			return nil, "the text is not base64 (RFC 4648, section 4)"
		}
		return &Upload{File: StoredFile{ID: v}}, ""
	case Fields:
		return describedFile(v)
	}
	return nil, ""
}

// inlineFile decodes base64 text, which may be a data URI. It returns nil if
// the text is neither.
func inlineFile(s string) *Upload {
	u := &Upload{}
	if rest, ok := strings.CutPrefix(s, "data:"); ok {
		head, body, ok := strings.Cut(rest, ",")
		mimeType, isBase64 := strings.CutSuffix(head, ";base64")
		if !ok || !isBase64 {
			return nil
		}
		u.File.MimeType, s = mimeType, body
	}
	content, err := base64.StdEncoding.DecodeString(s) // ignores line ends
	if err != nil {
		return nil
	}
	u.Content = bytes.NewReader(content)
	return u
}

// describedFile reads an object: the description of a stored file as in
// answers, or a name, a type and the content.
func describedFile(fields Fields) (*Upload, string) {
	text := func(names ...string) string {
		for _, name := range names {
			if s, _ := fields.Get(name); s != nil {
				if s, ok := s.(string); ok {
					return s
				}
			}
		}
		return ""
	}
	u := &Upload{}
	if body, given := fields.Get("body"); given {
		s, ok := body.(string)
		if !ok {
			return nil, "its body is no text"
		}
		if u = inlineFile(s); u == nil {
			return nil, "its body is not base64 (RFC 4648, section 4)"
		}
	} else if u.File.ID = text("id"); u.File.ID == "" {
		return nil, `it has neither "body" nor "id"`
	}
	u.File.Name = text("name")
	if t := text("mimeType", "mime"); t != "" {
		u.File.MimeType = t
	}
	return u, ""
}

// Staging collects functions to be called when a request ends. While a request runs, the storage must not remove
// contents of files that the request has stored, or that its objects are about to refer to. The functions end that
// protection. Every context of WithRequest has a Staging. It is safe for concurrent use.
type Staging struct {
	mu        sync.Mutex
	releases  []func(settled bool)
	unsettled bool
	ended     bool
}

type stagingKey struct{}

// StagingFrom returns the Staging of the request, or nil if ctx does not belong to
// a request.
func StagingFrom(ctx context.Context) *Staging {
	s, _ := ctx.Value(stagingKey{}).(*Staging)
	return s
}

// WithStaging returns a context with a Staging of its own, for work outside a
// request, such as an import.
func WithStaging(ctx context.Context) (context.Context, *Staging) {
	s := &Staging{}
	return context.WithValue(ctx, stagingKey{}, s), s
}

// Add registers release, which End calls. settled is true if all commits of the
// request have succeeded or failed for certain (see Unsettle). If there is no
// request or it has ended, Add returns false and does not call release.
func (s *Staging) Add(release func(settled bool)) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.releases = append(s.releases, release)
	return true
}

// Unsettle records that a commit of the request has failed in such a way that its
// rows may still appear: the disk could not flush it, or the connection was lost.
// The files of these rows must not be removed before it is known whether the rows
// exist.
func (s *Staging) Unsettle() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.unsettled = true
	s.mu.Unlock()
}

// End calls the registered functions. It must be called when the writes of the
// request are committed or have failed, also after a panic.
func (s *Staging) End() {
	s.mu.Lock()
	releases, settled := s.releases, !s.unsettled
	s.releases, s.ended = nil, true
	s.mu.Unlock()
	for _, release := range releases {
		release(settled)
	}
}

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

// ImageAnswer returns the value of an image attribute as answers contain it: the
// members of the file description, the same description again as "file", and the
// thumbnails of all kinds.
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
