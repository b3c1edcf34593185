package store

import "restsrv/engine"

// counterTable holds numbers that only grow: those of autoassigned ints, and
// the named ones of formulas.
const counterTable = `"##counter"`

const counterDDL = `CREATE TABLE IF NOT EXISTS ` + counterTable + ` ("name" TEXT NOT NULL PRIMARY KEY, "value" BIGINT NOT NULL)`

// nextNumbers takes the next n numbers of a counter and returns the first of
// them. Other transactions wait for this one to end.
func nextNumbers(w *session, name string, n int64) (first int64, err error) {
	b := newBuilder(w.dialect.Traits())
	b.add("INSERT INTO ", counterTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(n)
	b.add(`) ON CONFLICT ("name") DO UPDATE SET "value" = `, counterTable, `."value" + excluded."value" RETURNING "value"`)
	last := int64(0)
	err = w.visitRows(b, 1, func(row []any) { last, _ = read(engine.Int, row[0]).(int64) })
	return last - n + 1, err
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
