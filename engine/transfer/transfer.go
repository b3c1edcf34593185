// Package transfer moves objects between an application's files and its
// database: it reads IONDV's data folders and NDJSON, writes NDJSON, and says
// of every object that was not taken why. It owns the formats. Storing is the
// business of the repository it is given, and who calls it decides about files
// and terminals.
//
// NDJSON is one JSON object a line: _class, _id, _classVer as in records of the
// acceptor, then the attributes. A file that restsrv wrote begins with a line
// that says so; its objects are restored exactly as they were, with _creator,
// _editor and hashed passwords. Objects of other files are saved as the
// acceptor saves them.
package transfer

import (
	"iter"

	"restsrv/engine"
)

// Object is one object, as its source has it.
type Object struct {
	Where  string // file, or file:line
	Size   int64  // how far it brings the source, in units of Source.Total
	Class  string // full name
	ID     string
	Fields engine.Fields // what the source says of it, system fields too
	Err    error         // why it cannot be read; the rest is not filled then
}

// Source is a number of objects to import.
type Source struct {
	Total   int64 // for a progress bar: files, or bytes
	Exact   bool  // written by Export: to be restored as it was
	Objects iter.Seq[Object]
}

// Refusal is an object that was not taken.
type Refusal struct {
	Where  string
	Reason string
}

// Report says what an import did.
type Report struct {
	Taken   map[string]int // objects by class
	Refused []Refusal
	Ignored map[string]int // attributes that their classes do not have, "class.attribute"
}

// Count is how many objects were taken.
func (r *Report) Count() (n int) {
	for _, taken := range r.Taken {
		n += taken
	}
	return n
}
