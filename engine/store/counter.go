package store

import (
	"math"

	"restsrv/engine"
)

// counterTable stores numbers that only grow: the counters of autoassigned ints, and the named
// counters of formulas.
const counterTable = `"##counter"`

const counterDDL = `CREATE TABLE IF NOT EXISTS ` + counterTable + ` ("name" TEXT NOT NULL PRIMARY KEY, "value" BIGINT NOT NULL)`

// lastNumber is the last value of every counter. Beyond it, databases would fail or continue with
// reals.
const lastNumber = math.MaxInt64

// storedNumber is the SQL expression for the value of a counter as a whole number. Earlier versions
// let SQLite count past lastNumber, as a real.
const storedNumber = `CASE WHEN "value" > 9223372036854775807 THEN 9223372036854775807 ELSE "value" END`

// nextNumbers takes the next n numbers of a counter and returns the first of them. ok is false if
// the counter has fewer than n numbers left. Other transactions that use the counter wait until
// this one ends.
func nextNumbers(w *session, name string, n int64) (first int64, ok bool, err error) {
	b := newBuilder(w.dialect.Traits())
	b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(n)
	b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = `, counterTable, `."value" + excluded."value" WHERE `,
		counterTable, `."value" <= 9223372036854775807 - excluded."value" RETURNING "value"`)
	last := int64(0)
	err = w.visitRows(b, 1, func(row []any) { last, ok = readValue(engine.Int, row[0]).(int64) })
	return last - n + 1, ok, err
}

// nextNumber takes the next number of a named counter.
func nextNumber(w *session, name string) (int64, error) {
	n, ok, err := nextNumbers(w, namedCounter(name), 1)
	if err == nil && !ok {
		err = engine.Errorf(engine.Invalid, "counter", "the sequence %s is used up: its last number is %d", engine.Quote(name), lastNumber)
	}
	return n, err
}

// setCounter sets the value of a counter, even if it is lower than the present one.
func setCounter(w *session, name string, last int64) error {
	b := newBuilder(w.dialect.Traits())
	b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(last)
	b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = excluded."value"`)
	_, err := w.execute(b)
	return err
}

// raiseCounter sets the value of a counter to at least the given number.
func raiseCounter(w *session, name string, atLeast int64) error {
	_, err := w.execute(raiseStatement(w.dialect.Traits(), name, atLeast))
	return err
}

func raiseStatement(tr Traits, name string, atLeast int64) *builder {
	b := newBuilder(tr)
	b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(atLeast)
	b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = excluded."value" WHERE `, counterTable, `."value" < excluded."value"`)
	return b
}
