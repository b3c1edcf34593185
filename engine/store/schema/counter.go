package schema

import (
	"math"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// CounterTable stores the last number of each counter. There are counters of autoassigned ints, and named counters
// of formulas.
const CounterTable = `"##counter"`

const counterDDL = `CREATE TABLE IF NOT EXISTS ` + CounterTable + ` ("name" TEXT NOT NULL PRIMARY KEY, "value" BIGINT NOT NULL)`

// LastNumber is the greatest value of a counter. A greater number would make databases fail, or continue with reals.
const LastNumber = math.MaxInt64

// StoredNumber is the SQL expression for the value of a counter, limited to LastNumber. A stored value can be greater,
// because earlier versions let SQLite count further with reals.
const StoredNumber = `CASE WHEN "value" > 9223372036854775807 THEN 9223372036854775807 ELSE "value" END`

// NextNumbers takes the next n numbers of a counter and returns the first of them. ok is false if the counter has
// fewer than n numbers left. Other transactions that use the counter wait until the transaction of w ends.
func NextNumbers(w *conns.Session, name string, n int64) (first int64, ok bool, err error) {
	b := sqldb.NewBuilder(w.Dialect.Traits())
	b.Add("INSERT INTO ", CounterTable, ` ("name", "value") VALUES (`)
	b.Bind(name)
	b.Add(", ")
	b.Bind(n)
	b.Add(")")
	b.UpdateExisting(`"name"`)
	b.Add(`"value" = `, CounterTable, `."value" + `, b.Clauses.Excluded, `"value" WHERE `,
		CounterTable, `."value" <= 9223372036854775807 - `, b.Clauses.Excluded, `"value"`)
	b.Returning(`"value"`)
	last := int64(0)
	err = w.VisitRows(b, 1, func(row []any) { last, ok = sqldb.ReadValue(engine.Int, row[0]).(int64) })
	return last - n + 1, ok, err
}

// NextNumber returns the next number of a counter of formulas.
func NextNumber(w *conns.Session, name string) (int64, error) {
	n, ok, err := NextNumbers(w, NamedCounter(name), 1)
	if err == nil && !ok {
		err = engine.Errorf(engine.Invalid, "counter", "the sequence %s is used up: its last number is %d", engine.Quote(name), LastNumber)
	}
	return n, err
}

// SetCounter sets the last used number of a counter, even if it is lower than the present one.
func SetCounter(w *conns.Session, name string, last int64) error {
	b := sqldb.NewBuilder(w.Dialect.Traits())
	b.Add("INSERT INTO ", CounterTable, ` ("name", "value") VALUES (`)
	b.Bind(name)
	b.Add(", ")
	b.Bind(last)
	b.Add(")")
	b.UpdateExisting(`"name"`)
	b.AssignNew(`"value"`)
	_, err := w.Execute(b)
	return err
}

// RaiseCounter sets the last used number of a counter to at least the given number.
func RaiseCounter(w *conns.Session, name string, atLeast int64) error {
	_, err := w.Execute(raiseStatement(w.Dialect.Traits(), name, atLeast))
	return err
}

func raiseStatement(tr sqldb.Traits, name string, atLeast int64) *sqldb.Builder {
	b := sqldb.NewBuilder(tr)
	b.Add("INSERT INTO ", CounterTable, ` ("name", "value") VALUES (`)
	b.Bind(name)
	b.Add(", ")
	b.Bind(atLeast)
	b.Add(")")
	b.UpdateExisting(`"name"`)
	b.AssignNew(`"value"`)
	b.Add(" WHERE ", CounterTable, `."value" < `, b.Clauses.Excluded, `"value"`)
	return b
}

// CounterName returns the name of the counter of an autoassigned int. All classes of a table share the counter,
// because their items must have different keys.
func CounterName(t *layout.Table, p *engine.Property) string {
	return t.Classes[0].FullName + "#" + p.Name
}

// Farthest limits how far a client can raise a counter by giving a number. A number above Farthest does not raise the
// counter. So a client can neither exhaust the counter nor raise it beyond 2^53, where JavaScript can no longer read
// all numbers of JSON exactly.
const Farthest = 1 << 52

// NamedCounter returns the name under which a counter of formulas is stored. It begins with #, while the name of the
// counter of a property begins with the name of a class, so the names are different.
func NamedCounter(name string) string { return "#" + name }
