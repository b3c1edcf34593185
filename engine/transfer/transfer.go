// Package transfer moves objects between an application's files and its
// database, and between databases: it reads IONDV's data folders and NDJSON,
// writes NDJSON, and says of every object that was not taken why. It owns the
// formats. It is not for files and terminals, which belong to who calls it, and
// not for clients: it stores what it is given without asking for permissions.
//
// NDJSON is one JSON object a line: _class, _id, _classVer as in records of the
// acceptor, then the attributes. A file that Export wrote begins with a line
// that says so; what is in it is restored exactly as it was (see export.go).
// Objects of other files and of data folders are taken as the ancestor takes
// them: defaults and generated values are made up, but nothing that must have a
// value is missed (see import.go).
package transfer

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"restsrv/engine"
)

// Dumper is a repository that is read as it is stored.
type Dumper interface {
	engine.Snapshotter
	Count(ctx context.Context, q *engine.Query) (int64, error)
	Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (last int64, err error)
	Linked() []*engine.Property
	DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (last int64, err error)
	Counters(ctx context.Context) (map[string]int64, error)
}

// Archive is a repository that is read and written as it is stored; package
// engine/store has it.
type Archive interface {
	Dumper
	Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error)
	List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error
	Import(ctx context.Context, items []*engine.Item) error
	ImportLinks(ctx context.Context, p *engine.Property, pairs [][2]string) error
	ImportCounters(ctx context.Context, counters map[string]int64) error
}

// Object is one object, as its source has it.
type Object struct {
	Where  string // file, or file:line
	Size   int64  // how far it brings the source, in units of Source.Total
	Class  string // full name
	ID     string
	Fields engine.Fields // what the source says of it, system fields too
	Line   []byte        // the line itself, when the source is Exact; valid until the next one
	Err    error         // why it cannot be read; the rest is not filled then
}

// Source is a number of objects to import.
type Source struct {
	Total   int64 // for a progress bar: files, or bytes; negative when nobody knows
	Exact   bool  // written by Export: to be restored as it was
	Objects iter.Seq[Object]
}

// Refusal is an object that was not taken.
type Refusal struct {
	Where     string
	Attribute string // that is at fault, "" when it is none or another object's
	Reason    string
}

// Report says what an import did.
type Report struct {
	Taken     map[string]int // objects by class, whether or not they changed anything
	Unchanged int            // of them those that were there as they are
	Refused   []Refusal
	Ignored   map[string]int    // attributes that their classes do not have, "class.attribute"
	IgnoredIn map[string]string // the first object that has a value of them
}

func newReport() *Report {
	return &Report{Taken: map[string]int{}, Ignored: map[string]int{}, IgnoredIn: map[string]string{}}
}

// Count is how many objects were taken.
func (r *Report) Count() (n int) {
	for _, taken := range r.Taken {
		n += taken
	}
	return n
}

// IgnoredNames are the names in Ignored, sorted.
func (r *Report) IgnoredNames() []string { return slices.Sorted(maps.Keys(r.Ignored)) }

func (r *Report) refuse(where string, err error) {
	attribute := ""
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		attribute = e.Attribute
	}
	r.Refused = append(r.Refused, Refusal{where, attribute, reasonOf(err)})
}
