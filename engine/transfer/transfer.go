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
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
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
	RaiseNumbers(ctx context.Context, last map[string]int64) error
}

// Object is one object, as its source has it.
type Object struct {
	Where  string         // file, or file:line
	At     jsonfile.Place // of Err in the file, if known
	Size   int64          // how far it brings the source, in units of Source.Total
	Class  string         // full name
	ID     string
	Keyed  bool          // ID is "", and the object must have its key among Fields
	Fields engine.Fields // what the source says of it, system fields too
	Text   []byte        // the file that Fields were read from, nil for a line; valid until the next one
	Line   []byte        // the line itself, when the source is Exact; valid until the next one
	Err    error         // why it cannot be read; the rest is not filled then
	Rule   *mistake.Rule // for Err, nil for ObjectUnreadable

	Numbers map[string]int64 // of sequences.data, which is no object: the last number of each sequence
}

// Source is a number of objects to import.
type Source struct {
	Total   int64 // for a progress bar: files, or bytes; negative if unknown
	Exact   bool  // written by Export: to be restored as it was
	Objects iter.Seq[Object]
	// Contents has the contents of files that objects name by their path; nil has none.
	Contents fs.FS
}

// Refusal is something that was not taken: an object, a value of one, or a file.
type Refusal struct {
	Where           string // file, or file:line
	Line, Column    int    // of the value in its file, 0 if unknown
	Attribute       string // path of the value that is at fault, "" when it is none or another object's
	Reason          string
	Found, Expected string        // of a value
	Rule            *mistake.Rule // what was done instead
	Taken           bool          // the object was taken, without the value
}

// Place is where the refused thing stands: file, file:line, or file:line:column.
func (r Refusal) Place() string {
	if r.Line == 0 {
		return r.Where
	}
	return fmt.Sprintf("%s:%d:%d", r.Where, r.Line, r.Column)
}

// Report says what an import did.
type Report struct {
	Taken     map[string]int // objects by class, whether or not they changed anything
	Unchanged int            // of them those that were there as they are
	Refused   []Refusal
	Sequences int               // numbers of sequences.data
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

// Failed returns how many objects, values and files were not taken. Files that hold no
// objects do not count.
func (r *Report) Failed() (n int) {
	for _, f := range r.Refused {
		if f.Rule != mistake.DataOther {
			n++
		}
	}
	return n
}

// NotTaken returns how many objects were not taken.
func (r *Report) NotTaken() (n int) {
	for _, f := range r.Refused {
		if !f.Taken && f.Rule != mistake.DataOther {
			n++
		}
	}
	return n
}

// describe fills in what was found and expected, if the error is that of a cast.
func (r *Refusal) describe(err error) {
	var e *engine.Error
	if found, expected, ok := misfit(err); ok && errors.As(err, &e) {
		r.Attribute, r.Found, r.Expected = e.Attribute, found, expected
		r.Reason = e.Attribute + ": found " + found + ", expected " + expected
	}
}

// unreadable adds what could not be read.
func (r *Report) unreadable(o Object) {
	f := Refusal{Where: o.Where, Line: o.At.Line, Column: o.At.Column, Reason: reasonOf(o.Err), Rule: o.Rule}
	if f.Rule == nil {
		f.Rule = mistake.ObjectUnreadable
	}
	f.describe(o.Err)
	r.Refused = append(r.Refused, f)
}

func (r *Report) refuse(where string, err error) {
	f := Refusal{Where: where, Reason: reasonOf(err), Rule: ruleOf(err)}
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		f.Attribute = e.Attribute
	}
	f.describe(err)
	r.Refused = append(r.Refused, f)
}

// ruled is an error of an object for which there is a rule.
type ruled struct {
	error
	rule *mistake.Rule
}

func (r ruled) Unwrap() error { return r.error }

// ruleOf returns the rule for an error of an object.
func ruleOf(err error) *mistake.Rule {
	if r := (ruled{}); errors.As(err, &r) {
		return r.rule
	}
	if e := (*engine.Error)(nil); errors.As(err, &e) && (e.Reason == "unknown-class" || e.Reason == "abstract") {
		return mistake.ObjectClass
	}
	return mistake.ObjectRefused
}
