package engine

import (
	"context"
	"encoding/json"
	"io"
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
	// Errors: TooLarge, and those of content.
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
