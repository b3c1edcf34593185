// Package transfer moves objects between files and the database of an application, and between
// databases. It reads IONDV data folders and NDJSON, writes NDJSON, and reports why an object was
// not imported. It defines these formats. The caller opens files and prints progress. The package
// does not check permissions, so do not use it for requests of clients.
//
// NDJSON is text with one JSON object per line. An object has the fields _class, _id and _classVer,
// like records of builtin/acceptor, and its attributes. Export writes such a file with a header,
// and Import restores its content exactly (see line.go). Other files and data folders are imported
// like in IONDV: Import adds defaults and generated values, but accepts objects without a required
// value (see import.go).
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

// Dumper is a database from which items, links and counters can be read as they are stored. For the
// methods, see engine/store, which implements them.
type Dumper interface {
	engine.Snapshotter
	// Count returns the number of items that q selects.
	Count(ctx context.Context, q *engine.Query) (int64, error)
	// Dump calls visit for items of a root class and its descendants, in the order of insertion.
	// Items are numbered in this order. Dump begins with the first number greater than after,
	// and visits at most count items. last is the number of the last visited item, or 0 if there
	// was none.
	Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (last int64, err error)
	// Linked returns the collections that are stored as links, which are pairs of owner and member.
	Linked() []*engine.Property
	// DumpLinks calls visit with the ids of owner and member of each link of a collection that
	// Linked returns. For after, count and last see Dump.
	DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (last int64, err error)
	// Counters returns the last number of each counter, by its name.
	Counters(ctx context.Context) (map[string]int64, error)
	// DumpForgotten and DumpForgottenLinks call visit for items and links in the database that
	// belong to classes which the application does not have.
	DumpForgotten(ctx context.Context, visit func(*engine.Item) error) error
	DumpForgottenLinks(ctx context.Context, visit func(class, collection, owner, member string) error) error
}

// Archive is a Dumper to which items, links and counters can also be written exactly as they were
// stored. Package engine/store implements it.
type Archive interface {
	Dumper
	// Save inserts or changes items with all checks and computations (see engine.Repository).
	Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error)
	List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error
	// Import writes items as they are, without defaults and checks. It replaces items with the same
	// id.
	Import(ctx context.Context, items []*engine.Item) error
	// ImportLinks adds links of a collection, as pairs of the ids of owner and member.
	ImportLinks(ctx context.Context, p *engine.Property, pairs [][2]string) error
	// ImportCounters raises counters, by the names that Counters returns.
	ImportCounters(ctx context.Context, counters map[string]int64) error
	// RaiseNumbers raises sequences, by their names. It never lowers a sequence.
	RaiseNumbers(ctx context.Context, last map[string]int64) error
}

// Object is one object of a source.
type Object struct {
	Where  string         // file, or file:line
	At     jsonfile.Place // place of the mistake that Err reports, if known
	Size   int64          // progress in units of Source.Total
	Class  string         // full name
	ID     string
	Keyed  bool          // the object has no ID, so Fields must contain the key
	Fields engine.Fields // attributes, and system fields such as _class
	Text   []byte        // text of the file with the object, nil for a line; valid until the next object
	Line   []byte        // the line, if the source is an export; valid until the next object
	Err    error         // reason why the object cannot be read; only Where, At, Size and Rule are then set
	Rule   *mistake.Rule // rule for Err; nil means ObjectUnreadable

	Numbers map[string]int64 // last number of each sequence; set if this is the file sequences.data instead of an object
}

// Source is a sequence of objects to import.
type Source struct {
	Total   int64 // number of files or bytes, for a progress bar; negative if unknown
	Exact   bool  // the source is an export, so its lines are restored exactly
	Objects iter.Seq[Object]
	// Contents is the folder with the files that objects name by path. It may be nil.
	Contents fs.FS
}

// Refusal reports an object, a value of an object, or a file that was not imported.
type Refusal struct {
	Where           string // file, or file:line
	Line, Column    int    // place of the value in the file, 0 if unknown
	Attribute       string // JSON path of the wrong value; "" if there is none, or if another object contains it
	Reason          string
	Found, Expected string        // the wrong value, and the values that are allowed
	Rule            *mistake.Rule // rule that applies; its Resolution says what was done instead
	Taken           bool          // the object was imported without the value
}

// Place returns the place for reports: file, file:line or file:line:column.
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
	Ignored   map[string]int    // number of values for attributes that the class does not have, by "class.attribute"
	IgnoredIn map[string]string // place of the first object with such a value
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

// IgnoredNames returns the keys of Ignored, sorted.
func (r *Report) IgnoredNames() []string { return slices.Sorted(maps.Keys(r.Ignored)) }

// Failed returns the number of objects, values and files that were not imported. It does not count
// files that cannot contain objects.
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

// describe sets Found, Expected and Attribute if err is the error of a cast.
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

// addUnreadable adds an object that cannot be read to the report.
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

// ruled is an error about an object, together with the rule that applies to the error.
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
