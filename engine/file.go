package engine

import (
	"context"
	"encoding/json"
	"io"
)

// StoredFile describes stored content. A file attribute holds it as JSONText, a list
// of files holds an array of them; each attribute of each item has ids of its
// own, also for the same content.
type StoredFile struct {
	ID       string `json:"id"` // random, so that nobody can guess it
	Name     string `json:"name,omitempty"`
	MimeType string `json:"mimeType,omitempty"` // as the client said: never believed when served
	Size     int64  `json:"size"`
	Hash     string `json:"hash"` // SHA-256 of the content, hex: what the storage finds it by
}

// Upload is the input of a file attribute.
type Upload struct {
	File    StoredFile // name and type as the client says, or the id of a stored file
	Content io.Reader  // what to store; nil for what File.ID names
	Stored  bool       // the content is stored already and File describes it; never taken from input
}

// HeldFile is a file and where it is.
type HeldFile struct {
	StoredFile
	Class     string // full name of the item's class
	Item      string // its id
	Attribute string
}

// FileStorage keeps the content of files. Package engine/file keeps it in a
// directory. Content that no item holds is removed at the end of the request
// that stored it, or after an hour if no request did.
type FileStorage interface {
	// Put stores content, which it reads once and never holds as a whole, and
	// returns its description with a new id. The content is durable when Put
	// returns. Errors: TooLarge, and those of content.
	Put(ctx context.Context, name, mimeType string, content io.Reader) (StoredFile, error)

	// Open returns the content of a file, found by its hash. Errors: NotFound.
	Open(ctx context.Context, f StoredFile) (io.ReadSeekCloser, error)

	// Find returns the file of that id that an item holds. It asks for no
	// permission: whether the account may read the item is the caller's to
	// ask. Errors: NotFound.
	Find(ctx context.Context, id string) (HeldFile, error)

	// Hold prevents the removal of a file's content until the request of ctx has
	// ended, even if the item that holds the file loses it. Errors: NotFound when
	// no item holds the file.
	Hold(ctx context.Context, f StoredFile) error

	// Copy describes the same content under a new id. The caller must Hold the
	// file first.
	Copy(f StoredFile) StoredFile
}

// JSON is the description as file attributes hold it.
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

// FilesIn returns the files that a value of a file attribute or of a list of
// files describes; none for any other value.
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
