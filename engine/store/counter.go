package store

import (
	"math"

	"restsrv/engine"
)

// counterTable holds numbers that only grow: those of autoassigned ints, and
// the named ones of formulas.
const counterTable = `"##counter"`

const counterDDL = `CREATE TABLE IF NOT EXISTS ` + counterTable + ` ("name" TEXT NOT NULL PRIMARY KEY, "value" BIGINT NOT NULL)`

// lastNumber is the end of all counters. Databases would fail, or count on with
// reals.
const lastNumber = math.MaxInt64

// storedNumber is the value of a counter as a whole number: earlier versions let
// SQLite count past lastNumber, with reals.
const storedNumber = `CASE WHEN "value" > 9223372036854775807 THEN 9223372036854775807 ELSE "value" END`

// nextNumbers takes the next n numbers of a counter and returns the first of
// them; ok is false when it has so many no more. Other transactions wait for this
// one to end.
func nextNumbers(w *session, name string, n int64) (first int64, ok bool, err error) {
	b := newBuilder(w.dialect.Traits())
	b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(n)
	b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = `, counterTable, `."value" + excluded."value" WHERE `,
		counterTable, `."value" <= 9223372036854775807 - excluded."value" RETURNING "value"`)
	last := int64(0)
	err = w.visitRows(b, 1, func(row []any) { last, ok = read(engine.Int, row[0]).(int64) })
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

// setCounter gives a counter a value, also a lower one than it has.
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

// raiseCounter makes sure that a counter has passed a number.
func raiseCounter(w *session, name string, atLeast int64) error {
	_, err := w.execute(raising(w.dialect.Traits(), name, atLeast))
	return err
}

func raising(tr Traits, name string, atLeast int64) *builder {
	b := newBuilder(tr)
	b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(atLeast)
	b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = excluded."value" WHERE `, counterTable, `."value" < excluded."value"`)
	return b
}
