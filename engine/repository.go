package engine

import (
	"context"
)

// Repository is the storage interface for items. Package engine/store implements it with SQL,
// engine/access wraps any Repository with permissions, and the conformance suite is
// engine/store/storetest/suite.
//
// All methods can be called from any goroutine. They act for AccountFrom(ctx), which they record as
// creator or editor. A method that writes is one transaction, which is durable when the method
// returns nil. In addition to the errors below, each method may return Forbidden (from
// engine/access), Unavailable if the database cannot be reached, and Timeout if ctx ends first.
//
// Values must be cast already (Class.Bind). Passwords are plain text in the input and hashed in the
// result. The repository may keep and change the values that it gets.
type Repository interface {
	// Get returns the item of class c, or of a descendant of c, with this id. It also loads the
	// references and collections in load, and those that the computed values of the item need
	// (Class.Needs). The error is NotFound if there is no such item.
	Get(ctx context.Context, c *Class, id string, load ...*Load) (*Item, error)

	// List calls visit for each item that matches q, in q's order. The item is valid only during the
	// call; use Clone to keep it. Its Revision is not set. visit must not call the repository. If
	// visit returns an error, List stops and returns it. The items, their loaded items and q.Total
	// are a snapshot of one moment, as are those of Get.
	List(ctx context.Context, q *Query, visit func(*Item) error) error

	// Count returns the number of items that match q, without regard to its Offset and Count.
	Count(ctx context.Context, q *Query) (int64, error)

	// Aggregate calls visit for each row of a, in a's order. The row has a value for each column,
	// followed by a value for each aggregate, and is valid only during the call. visit must not call
	// the repository. If visit returns an error, Aggregate stops and returns it.
	Aggregate(ctx context.Context, a *Aggregation, visit func(row []any) error) error

	// Create inserts an item. Absent properties get their default or generated value. Nested records
	// are saved, and collections are linked. The error is Invalid with reason required, with reason
	// duplicate if the key or a unique property is taken, or with reason dangling in strict
	// handling.
	Create(ctx context.Context, c *Class, v Values, o WriteOptions) (*Item, error)

	// Update changes the properties that are not Absent. If the key changes, references to the item
	// change too. Errors: NotFound, Unmatched (see Match), Invalid as for Create, and Invalid with
	// reason readonly in strict handling.
	Update(ctx context.Context, c *Class, id string, v Values, o WriteOptions) (*Item, error)

	// Delete removes the item. Errors: NotFound, Unmatched.
	Delete(ctx context.Context, c *Class, id string, m *Match) error

	// UpdateAll changes all items that match q and returns their number. It accepts plain values
	// only: no key, file, collection or nested record. The query must not have Offset, Count or
	// After. Errors: Invalid.
	UpdateAll(ctx context.Context, q *Query, v Values) (int64, error)

	// DeleteAll removes all items that match q, which has the limits of UpdateAll, and returns their
	// number.
	DeleteAll(ctx context.Context, q *Query) (int64, error)

	// Save inserts or updates all records, or none of them. They take effect in their order, each
	// with its nested records and collections. A collection may name items that later records
	// create. If the class of a record is an ancestor of the class of the item, the item keeps its
	// class. The result has the items in the order of the records, as they are stored in the end.
	// Errors: Invalid as for Create, with Index set to the record, and Invalid with reason class if
	// an item would lose values by a change of its class.
	Save(ctx context.Context, records []Record) ([]*Item, error)
}

// Transactor is a Repository that can combine calls to one transaction.
type Transactor interface {
	// Transaction runs work in a transaction. All calls of the repository with the context that work
	// gets, from any goroutine, belong to it. They run one after the other and see the writes of the
	// calls before them, which are invisible outside. Each call is atomic: if one fails and work
	// goes on, the other ones are kept. The transaction is committed if work returns nil. It is
	// rolled back if work fails or panics, or if ctx ends first; calls after that are refused. A
	// nested transaction is a part that can fail alone. Until it ends, calls with the outer context
	// wait.
	//
	// Work is run only once. If another transaction is in the way, a call or the commit fails with
	// Unavailable and reason busy, and the transaction is rolled back. The caller may then retry all
	// of it. Items that Get and List return cannot be changed by others until the end. Other
	// requests may have to wait that long, so work should be fast.
	Transaction(ctx context.Context, work func(ctx context.Context) error) error
}

// Snapshotter is a Repository that can read a consistent state of the data.
type Snapshotter interface {
	// Snapshot runs work. All reads with the context that work gets see the data in the state of the
	// first read, without regard to writes since then. They run one after the other. Writes with
	// that context are made at once, and the reads do not see them. In a transaction, reads see the
	// state of the transaction.
	//
	// Until work returns, Snapshot occupies a connection and prevents the database from reusing the
	// space of replaced data (the log of SQLite grows). It is intended for commands that copy or
	// compare data. A request should make a single call instead. If it needs several, work must be
	// short and must not wait for anything that may itself wait for a connection.
	Snapshot(ctx context.Context, work func(ctx context.Context) error) error
}

// InSnapshot runs work in a Snapshot of r, or without one if r is not a Snapshotter.
func InSnapshot(ctx context.Context, r any, work func(ctx context.Context) error) error {
	if s, ok := r.(Snapshotter); ok {
		return s.Snapshot(ctx, work)
	}
	return work(ctx)
}

// Recacher is a Repository that can compute stored values of formulas again.
type Recacher interface {
	// Recache computes and stores the cached attributes of an item, and those that depend on it. It
	// is needed because a formula may read data that are not declared as a dependency. Errors:
	// NotFound.
	Recache(ctx context.Context, c *Class, id string) error
}

// InTransaction runs work in a transaction of r. The error is Invalid if r has no transactions.
func InTransaction(ctx context.Context, r Repository, work func(ctx context.Context) error) error {
	if t, ok := r.(Transactor); ok {
		return t.Transaction(context.WithValue(ctx, transactionKey{}, true), work)
	}
	return Errorf(Invalid, "no-transactions", "this repository has no transactions")
}

type transactionKey struct{}

// WithinTransaction reports whether ctx belongs to a transaction that InTransaction began.
func WithinTransaction(ctx context.Context) bool { return ctx.Value(transactionKey{}) != nil }

// Admitter is a Repository that can check the permissions of a write in advance.
type Admitter interface {
	// Admit checks a write against the stored items, without making it. If the write would be refused because of
	// these items, Admit returns that error: Forbidden, NotFound or Unmatched. It does not change data, but inside a
	// transaction it locks the items. It does not check the values, so the write itself may still be refused. That
	// error can even be Forbidden, if permissions depend on the new values.
	Admit(ctx context.Context, a Admission) error
}

// Admit checks a write of r in advance if r is an Admitter.
func Admit(ctx context.Context, r Repository, a Admission) error {
	if admitter, ok := r.(Admitter); ok {
		return admitter.Admit(ctx, a)
	}
	return nil
}

// Admission describes a write to be checked.
type Admission struct {
	// May is MayUse for Create, MayWrite for Update, MayDelete for Delete, and
	// MayUse|MayWrite for Save.
	May     Permission
	Records []Record // one record, except for Save; Update and Delete find the item by ID
	Match   *Match   // for Update and Delete
}

// Record is one item to Save. It is found by ID if that is set, else by its key properties if all of
// them are given, else it is new. An existing item is updated with the given properties; a new one
// is inserted.
type Record struct {
	Class    *Class
	ID       string // "" if not given
	Version  string
	Values   Values
	Handling Handling // as in WriteOptions
	Follow   bool     // nested in a reference: update the item to which the reference points now, if any
	Brief    bool     // the caller does not need Creator and Editor of the saved item, so they may be missing
	Members  bool     // return the members of the item's Linked collections, as of the end of the transaction
	// Make computes the Values of this record from the items that were saved before it. It is allowed for the last
	// record only. It is called in the transaction of these items, and again if the transaction is retried. The
	// record belongs to the server: permissions are not checked.
	Make func(saved []*Item) (Values, error)
	// Saved, for a nested record, is called with the saved item in the transaction. It is called
	// again if the transaction is retried.
	Saved func(*Item)
}

// WriteOptions are the options of a write.
type WriteOptions struct {
	Match    *Match   // not used by Create
	Handling Handling // Strict refuses dangling references and changes of readonly properties
}

// Match is the If-Match condition of a write (RFC 9110 section 13.1.1): the item must exist and have
// one of these revisions. A nil Match is no condition.
type Match struct {
	Any       bool // If-Match: *
	Revisions []uint64
}

// Allows reports whether an item with that revision matches.
func (m *Match) Allows(revision uint64) bool {
	if m == nil || m.Any {
		return true
	}
	for _, r := range m.Revisions {
		if r == revision {
			return true
		}
	}
	return false
}

// Journal creates the records of writes to items of classes with Journaling. The
// repository stores each record in the transaction of its write. Package
// engine/journal implements it.
type Journal interface {
	// Class returns the system class of the records.
	Class() *Class
	// Record returns the values of a record without its key, or nil if the write
	// did not change anything that is journaled.
	Record(ctx context.Context, c Change) Values
}

// Change is the effect of a write on an item, or on one of its collections.
type Change struct {
	At  Instant
	Was *Item // before the write; nil for a new item
	Is  *Item // after the write; nil for a deleted item

	// If members were added to or removed from a collection of Is, the following
	// fields are set, Was is nil, and only class and id of Is are valid.
	Collection *Property
	Members    []string // ids of the members
	Left       bool
}

type unjournaledKey struct{}

// Unjournaled returns a context in which writes leave no records in a journal.
// Imported data either have a history of their own or none.
func Unjournaled(ctx context.Context) context.Context {
	return context.WithValue(ctx, unjournaledKey{}, true)
}

// Journaled reports whether the writes of a context are journaled.
func Journaled(ctx context.Context) bool { return ctx.Value(unjournaledKey{}) == nil }

// Workflows returns the states of items in the workflows of their classes, and
// moves items. Package engine/workflow implements it.
type Workflows interface {
	// Status returns the states of an item and the permissions of the account of
	// ctx in these states: stages, itemPermissions, propertyPermissions and
	// selectionProviders, in the form of IONDV, with each date an Instant. The
	// item is read with r, so errors are those of Repository.Get.
	Status(ctx context.Context, r Repository, c *Class, id string) (Fields, error)
	// Has reports whether a workflow, named name@namespace, has the state.
	Has(workflow, state string) bool
	// Move moves an item, which it reads and writes with r, in one transaction,
	// or in a part of the transaction of ctx if there is one. If the move itself
	// is not possible, the reason of the error is one of those below. Other
	// errors are those of Repository.Get, and failures of the server. now is the
	// id of the item after the move, because transitions may change keys.
	Move(ctx context.Context, r Repository, m Move) (now string, err error)
}

// Move is one step of an item in a workflow: by a transition, or into a state
// from any other state.
type Move struct {
	Class      *Class
	ID         string
	Workflow   string // name@namespace, or only the name if it is in the namespace of the class
	Transition string
	State      string // used if Transition is ""
}

// The reasons of refused moves, as in IONDV.
const (
	NoWorkflow     = "workflow.wnf" // the class has no such workflow
	NoTransition   = "workflow.tnf"
	NoState        = "workflow.snf"
	NotInWorkflow  = "workflow.nw" // the conditions of the item's current state do not hold
	NotPossible    = "workflow.ti" // the transition does not begin in the current state, or its conditions do not hold
	NotAllowed     = "workflow.iw" // the account does not have the permission
	WrongState     = "workflow.cv" // the conditions of the item's new state would not hold
	NotTransferred = "workflow.te" // the assignments failed
)

// SmallBytes is the maximum size of a body or an answer that needs no reservation
// of memory.
const SmallBytes = 64 << 10

// Memory is the reservation of one request in the memory that all requests share
// for bodies, or for answers. It is released when the request ends.
type Memory interface {
	// Try raises the reservation to the given number of bytes if they are free,
	// and reports whether they were. It does not wait, so the caller may hold a
	// database connection.
	Try(bytes int) bool
	// Wait releases the reservation and waits until the given number of bytes is
	// free. The caller must not hold resources for which other requests wait, such
	// as a database connection. Errors: Unavailable if the bytes are not free in
	// time, Timeout if the request ends.
	Wait(bytes int) error
}
