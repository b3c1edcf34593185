package table

import (
	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// RaiseCounters raises the counters of autoassigned ints to at least the numbers that are given in rows, so that these
// numbers are not assigned again. It ignores numbers above schema.Farthest.
func (s *Writer) RaiseCounters(w *conns.Session, p *layout.Plan, rows []engine.Values) error {
	for _, property := range p.Duties.Numbers {
		highest := int64(0)
		for _, v := range rows {
			if n, ok := v[property.Index].(int64); ok && n <= schema.Farthest {
				highest = max(highest, n)
			}
		}
		if highest > 0 {
			if err := schema.RaiseCounter(w, schema.CounterName(p.Table, property), highest); err != nil {
				return err
			}
		}
	}
	return nil
}

// AssignNumbers gives a number to each autoassigned int that is absent in the rows. It leaves out properties with a
// default.
func (s *Writer) AssignNumbers(w *conns.Session, p *layout.Plan, rows []engine.Values) error {
	if err := s.RaiseCounters(w, p, rows); err != nil {
		return err
	}
	for _, property := range p.Duties.Numbers {
		if property.Default != nil || property.Computed != nil {
			continue
		}
		lacking := int64(0)
		for _, v := range rows {
			if v[property.Index] == engine.Absent {
				lacking++
			}
		}
		if lacking == 0 {
			continue
		}
		next, err := s.takeNumbers(w, p, property, rows, lacking)
		if err != nil {
			return err
		}
		for _, v := range rows {
			if v[property.Index] == engine.Absent {
				v[property.Index] = next
				next++
			}
		}
	}
	return nil
}

// takeNumbers reserves the next n numbers of a property and returns the first of them. Up to schema.Farthest, a
// counter is greater than all numbers in use, because each number that a client gives raises the counter. Greater
// numbers do not raise it. Therefore, beyond schema.Farthest, takeNumbers skips numbers in use if the property must be
// unique.
func (s *Writer) takeNumbers(w *conns.Session, p *layout.Plan, property *engine.Property, rows []engine.Values, n int64) (first int64, err error) {
	name := schema.CounterName(p.Table, property)
	for reach := n; ; reach = max(n, min(2*reach, 1<<20)) { // doubled each time, so that a few queries can skip many numbers in use
		first, ok, err := schema.NextNumbers(w, name, n)
		if err == nil && !ok {
			if err = s.restartCounter(w, p, property, rows); err == nil {
				first, ok, err = schema.NextNumbers(w, name, n)
			}
		}
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return 0, engine.Errorf(engine.Invalid, "counter", "attribute %s of class %s: all numbers are assigned", engine.Quote(property.Name), p.Class.FullName)
		case first+n-1 <= schema.Farthest || !p.Table.MustBeUnique(property):
			return first, nil
		}
		last := first + n - 1
		lowest, highest, err := s.takenRange(w, p, property, first, first+min(reach-1, schema.LastNumber-first))
		free := lowest > last || highest == 0
		for _, v := range rows {
			if given, ok := v[property.Index].(int64); ok && given >= first && given <= last {
				free, highest = false, max(highest, given)
			}
		}
		if err != nil || free {
			return first, err
		}
		if err := schema.RaiseCounter(w, name, highest); err != nil {
			return 0, err
		}
	}
}

// restartCounter handles a counter that has reached its last number, which clients could cause in earlier versions.
// The counter continues after the greatest stored number that is not above schema.Farthest.
func (s *Writer) restartCounter(w *conns.Session, p *layout.Plan, property *engine.Property, rows []engine.Values) error {
	_, highest, err := s.takenRange(w, p, property, 1, schema.Farthest)
	if err != nil {
		return err
	}
	if err := schema.SetCounter(w, schema.CounterName(p.Table, property), highest); err != nil {
		return err
	}
	return s.RaiseCounters(w, p, rows)
}

// takenRange returns the least and the greatest number in use between from and to. It returns 0 and 0 if there are
// none.
func (s *Writer) takenRange(w *conns.Session, p *layout.Plan, property *engine.Property, from, to int64) (lowest, highest int64, err error) {
	column := p.Table.Column(property).Quoted
	bounded := func(b *sqldb.Builder, what string) {
		b.Add("(SELECT ", what, "(", column, ") FROM ", p.Table.Quoted, " WHERE ", column, " >= ")
		b.Bind(from)
		b.Add(" AND ", column, " <= ")
		b.Bind(to)
		b.Add(")")
	}
	b := sqldb.NewBuilder(s.traits)
	b.Add("SELECT ")
	bounded(b, "min") // min and max in separate subqueries, because the index answers each of them at once
	b.Add(", ")
	bounded(b, "max")
	err = w.VisitRows(b, 2, func(row []any) {
		lowest, _ = sqldb.ReadValue(engine.Int, row[0]).(int64)
		highest, _ = sqldb.ReadValue(engine.Int, row[1]).(int64)
	})
	return lowest, highest, err
}
