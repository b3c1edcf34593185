// Package transfer moves objects between files and the database of an application, and between databases. It reads
// IONDV data folders and NDJSON, writes NDJSON, and reports the reason for each object that was not imported. It
// defines these formats. Opening files and printing progress is left to the caller. The package does not check
// permissions, so it must not be called on behalf of clients.
//
// NDJSON has one JSON object per line: _class, _id and _classVer as in records of the acceptor, then the attributes. A
// file that Export wrote starts with a header line, and its content is restored exactly as it was (see export.go).
// Objects of other files and of data folders are imported as IONDV does: defaults and generated values are added, but
// an object may lack a required value (see import.go).
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

// Dumper is a repository that can return items, links and counters as they are stored.
type Dumper interface {
	engine.Snapshotter
	Count(ctx context.Context, q *engine.Query) (int64, error)
	Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (last int64, err error)
	Linked() []*engine.Property
	DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (last int64, err error)
	Counters(ctx context.Context) (map[string]int64, error)
	// DumpForgotten and DumpForgottenLinks return what is stored for classes that the repository does not have.
	DumpForgotten(ctx context.Context, visit func(*engine.Item) error) error
	DumpForgottenLinks(ctx context.Context, visit func(class, collection, owner, member string) error) error
}

// Archive is a Dumper that can also be written as it is stored. Package engine/store implements it.
type Archive interface {
	Dumper
	Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error)
	List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error
	Import(ctx context.Context, items []*engine.Item) error
	ImportLinks(ctx context.Context, p *engine.Property, pairs [][2]string) error
	ImportCounters(ctx context.Context, counters map[string]int64) error
	RaiseNumbers(ctx context.Context, last map[string]int64) error
}

// Object is one object as read from its source.
type Object struct {
	Where  string         // file, or file:line
	At     jsonfile.Place // place of Err in the file, if known
	Size   int64          // progress that the object makes, in units of Source.Total
	Class  string         // full name
	ID     string
	Keyed  bool          // ID is "", and Fields must contain the key
	Fields engine.Fields // including system fields
	Text   []byte        // the file that contained Fields, nil for a line; valid until the next object
	Line   []byte        // the line, if the source is Exact; valid until the next object
	Err    error         // why the object cannot be read; the other fields are then not set
	Rule   *mistake.Rule // rule for Err; nil means ObjectUnreadable

	Numbers map[string]int64 // last number of each sequence, if this is sequences.data instead of an object
}

// Source is a sequence of objects to import.
type Source struct {
	Total   int64 // files or bytes, for a progress bar; negative if unknown
	Exact   bool  // written by Export, so objects are restored as they were
	Objects iter.Seq[Object]
	// Contents holds the contents of files that objects name by path. It may be nil.
	Contents fs.FS
}

// Refusal reports an object, a value of an object, or a file that was not imported.
type Refusal struct {
	Where           string // file, or file:line
	Line, Column    int    // of the value in its file, 0 if unknown
	Attribute       string // path of the wrong value; "" if no value or a value of another object is wrong
	Reason          string
	Found, Expected string        // describe the value
	Rule            *mistake.Rule // names the action taken instead
	Taken           bool          // the object was imported without the value
}

// Place returns the place of the refused thing: file, file:line, or file:line:column.
func (r Refusal) Place() string {
	if r.Line == 0 {
		return r.Where
	}
	return fmt.Sprintf("%s:%d:%d", r.Where, r.Line, r.Column)
}

// Report is the result of an import.
type Report struct {
	Taken     map[string]int // number of imported objects by class, including unchanged ones
	Unchanged int            // imported objects that were already stored with the same values
	Refused   []Refusal
	Sequences int               // numbers read from sequences.data
	Ignored   map[string]int    // count of attributes that the class does not have, by "class.attribute"
	IgnoredIn map[string]string // the first object with a value of such an attribute
}

func newReport() *Report {
	return &Report{Taken: map[string]int{}, Ignored: map[string]int{}, IgnoredIn: map[string]string{}}
}

// Count returns the number of imported objects.
func (r *Report) Count() (n int) {
	for _, taken := range r.Taken {
		n += taken
	}
	return n
}

// IgnoredNames returns the names in Ignored, sorted.
func (r *Report) IgnoredNames() []string { return slices.Sorted(maps.Keys(r.Ignored)) }

// Failed returns the number of objects, values and files that were not imported. Files without objects do not count.
func (r *Report) Failed() (n int) {
	for _, f := range r.Refused {
		if f.Rule != mistake.DataOther {
			n++
		}
	}
	return n
}

// NotTaken returns the number of objects that were not imported.
func (r *Report) NotTaken() (n int) {
	for _, f := range r.Refused {
		if !f.Taken && f.Rule != mistake.DataOther {
			n++
		}
	}
	return n
}

// describe sets the found and the expected value if the error is that of a cast.
func (r *Refusal) describe(err error) {
	var e *engine.Error
	if found, expected, ok := splitMisfit(err); ok && errors.As(err, &e) {
		r.Attribute, r.Found, r.Expected = e.Attribute, found, expected
		r.Reason = "found " + found + ", expected " + expected
		if e.Attribute != "" {
			r.Reason = e.Attribute + ": " + r.Reason
		}
	}
}

// addUnreadable adds an object that could not be read.
func (r *Report) addUnreadable(o Object) {
	f := Refusal{Where: o.Where, Line: o.At.Line, Column: o.At.Column, Reason: reasonOf(o.Err), Rule: o.Rule}
	if f.Rule == nil {
		f.Rule = mistake.ObjectUnreadable
	}
	f.describe(o.Err)
	r.Refused = append(r.Refused, f)
}

func (r *Report) addRefusal(where string, err error) {
	f := Refusal{Where: where, Reason: reasonOf(err), Rule: ruleOf(err)}
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		f.Attribute = e.Attribute
	}
	f.describe(err)
	r.Refused = append(r.Refused, f)
}

// ruled is an error of an object together with its rule.
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
