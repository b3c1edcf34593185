package engine

import "context"

// Repository stores and finds items: the one storage interface. Package
// engine/store implements it over SQL, engine/access wraps any Repository with
// permissions, and the conformance suite is engine/store/storetest.
//
// Every method may be called from any goroutine, acts for AccountFrom(ctx)
// (which it records as creator or editor) and, if it writes, is one
// transaction that is durable when the method returns nil. Besides the errors
// named below each may return Forbidden (from engine/access), Unavailable when
// the database is away, and Timeout when ctx ends first.
//
// Values handed in are cast already (Class.Bind); passwords are plain text and
// leave hashed. The repository may keep and change them.
type Repository interface {
	// Get returns the item with that id, of class c or of a descendant, with
	// what its class needs and what load names. Errors: NotFound.
	Get(ctx context.Context, c *Class, id string, load ...*Load) (*Item, error)

	// List calls visit for each item that q finds, in q's order. The item is
	// valid during the call only; Clone keeps it. Its Revision is not
	// filled. visit must not call the repository; an error of it ends the
	// list and is returned. The items, what is loaded with them and q.Total are
	// of one moment, as are the items of Get.
	List(ctx context.Context, q *Query, visit func(*Item) error) error

	// Count returns how many items q finds, whatever its Offset and Count.
	Count(ctx context.Context, q *Query) (int64, error)

	// Aggregate calls visit for each row that a makes, in a's order. The row
	// has a value for each of its columns, then for each of its aggregates; it
	// is valid during the call only. visit must not call the repository; an
	// error of it ends the rows and is returned.
	Aggregate(ctx context.Context, a *Aggregation, visit func(row []any) error) error

	// Create inserts an item. Absent properties get their default or generated
	// value. Nested records are saved with it, collections linked. Errors:
	// Invalid with reason required, or duplicate when the key or a unique
	// property is taken, or dangling in strict handling.
	Create(ctx context.Context, c *Class, v Values, o WriteOptions) (*Item, error)

	// Update changes the properties that are not Absent; the key may be among
	// them: references to the item follow it. Errors: NotFound, Unmatched (see
	// Match), Invalid as for Create and with reason readonly in strict handling.
	Update(ctx context.Context, c *Class, id string, v Values, o WriteOptions) (*Item, error)

	// Delete removes the item. Errors: NotFound, Unmatched.
	Delete(ctx context.Context, c *Class, id string, m *Match) error

	// UpdateAll changes all items that q finds and returns how many these are.
	// It takes plain values only: no key, file, collection or nested record. The
	// query takes no Offset, Count or After. Errors: Invalid.
	UpdateAll(ctx context.Context, q *Query, v Values) (int64, error)

	// DeleteAll removes all items that q finds, as UpdateAll finds them, and
	// returns how many these were.
	DeleteAll(ctx context.Context, q *Query) (int64, error)

	// Save inserts or updates all records, or none. They take effect in their order, each with its
	// nested records and collections; a collection may name items that later records create. A
	// record of a class above that of the item leaves the item its class. The items
	// returned are in the order of the records, as they are stored in the end. Errors: Invalid as
	// for Create, with Index telling the record, and with reason class when an item would lose
	// values as one of another class.
	Save(ctx context.Context, records []Record) ([]*Item, error)
}

// Transactor is a Repository whose calls can be parts of one transaction.
type Transactor interface {
	// Transaction begins a transaction and has work do its part of it: calls of
	// the repository, of any goroutine, made with the context that work gets.
	// They run one after the other and see what those before them wrote, which
	// nobody else does. Each is whole by itself: when one fails, and work goes
	// on, the others stand. The transaction is committed when work returns nil,
	// and undone when work fails or panics, or ctx ends first; what a call is
	// asked after that is refused. A transaction within one is a part of it that
	// can fail alone; until it ends, calls with the outer context wait.
	//
	// Work is never run again. If another transaction is in the way, a call or the
	// commit fails with Unavailable and reason busy, and the transaction is undone:
	// all of it may be tried again. What Get and List find is nobody else's to change until the end.
	// Others may have to wait that long: work should take no time.
	Transaction(ctx context.Context, work func(ctx context.Context) error) error
}

// Snapshotter is a Repository whose calls can read one state of the data.
type Snapshotter interface {
	// Snapshot runs work. Whatever is written meanwhile, all readings with the
	// context that work gets see the data as the first of them found it. They run
	// one after the other. Writes with that context are made at once, and are not
	// seen. In a transaction, readings see what that sees.
	//
	// It occupies a connection, and keeps the database from reusing the space of
	// what is replaced meanwhile (the log of SQLite grows), until work returns: it
	// is for commands that copy or compare data. A request should make a single
	// call instead. If it needs more, work must be short and must not wait for
	// anything that may itself wait for a connection.
	Snapshot(ctx context.Context, work func(ctx context.Context) error) error
}

// InSnapshot runs work in a Snapshot of r, or just runs it if r has none.
func InSnapshot(ctx context.Context, r any, work func(ctx context.Context) error) error {
	if s, ok := r.(Snapshotter); ok {
		return s.Snapshot(ctx, work)
	}
	return work(ctx)
}

// Recacher is a Repository that computes anew what it keeps of formulas.
type Recacher interface {
	// Recache computes and stores the cached attributes of an item, and those
	// that depend on it: what a formula reads may change where no dependency
	// tells. Errors: NotFound.
	Recache(ctx context.Context, c *Class, id string) error
}

// InTransaction has work do its part of a transaction of r. The error is Invalid
// when r has none.
func InTransaction(ctx context.Context, r Repository, work func(ctx context.Context) error) error {
	if t, ok := r.(Transactor); ok {
		return t.Transaction(context.WithValue(ctx, transactionKey{}, true), work)
	}
	return Errorf(Invalid, "no-transactions", "this repository has no transactions")
}

type transactionKey struct{}

// WithinTransaction reports whether ctx is the context of calls in a transaction
// that InTransaction began.
func WithinTransaction(ctx context.Context) bool { return ctx.Value(transactionKey{}) != nil }

// Admitter is a Repository that checks the permissions of a write before the
// write is made.
type Admitter interface {
	// Admit returns the error with which the write would be refused because of
	// the stored items: Forbidden, NotFound or Unmatched. It changes nothing,
	// except that inside a transaction it locks the items. It does not check the
	// values: the write itself may still be refused, also with Forbidden where
	// permissions depend on what the items become.
	Admit(ctx context.Context, a Admission) error
}

// Admit checks a write of r before it is made, if r is an Admitter.
func Admit(ctx context.Context, r Repository, a Admission) error {
	if admitter, ok := r.(Admitter); ok {
		return admitter.Admit(ctx, a)
	}
	return nil
}

// Admission is a write that is about to be made.
type Admission struct {
	// May is MayUse for Create, MayWrite for Update, MayDelete for Delete, and
	// MayUse|MayWrite for Save.
	May     Permission
	Records []Record // one, except for Save; Update and Delete find it by ID
	Match   *Match   // of Update and Delete
}

// Record is one item to Save. It is found by ID if that is set, else by its
// key properties if all are given, else it is new. What is found is updated in
// its given properties; what is not is inserted.
type Record struct {
	Class    *Class
	ID       string // "" when not given
	Version  string
	Values   Values
	Handling Handling // as in WriteOptions
	Follow   bool     // nested in a reference: the item that this points at now, if any
	Brief    bool     // Creator and Editor of the saved item are of no interest: it may lack them
	Members  bool     // the saved item comes with the members of its Linked collections, as of the end of the transaction
	// Make, of the last record only, makes its Values from the items saved
	// before it, in their transaction; it may be called again when that is
	// retried. The record is the server's own: nobody's permission counts.
	Make func(saved []*Item) (Values, error)
	// Saved, of a record nested in another, learns of the item that it became, in
	// the transaction; it is called again when that is retried.
	Saved func(*Item)
}

// WriteOptions refine a write.
type WriteOptions struct {
	Match    *Match   // not for Create
	Handling Handling // Strict refuses dangling references and a changed value of a readonly property
}

// Match is the If-Match condition of a write (RFC 9110 section 13.1.1): the
// item must exist and have one of these revisions. A nil Match asks nothing.
type Match struct {
	Any       bool // If-Match: *
	Revisions []uint64
}

// Allows reports whether an item of that revision passes.
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
