package store

import (
	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// numberOne assigns the autoassigned ints of a new item.
func (sv *numbers) numberOne(p *layout.Plan, v engine.Values) error {
	return sv.assignNumbers(p, []engine.Values{v})
}

// raiseCounters moves counters past the given numbers, so that these are not assigned again.
func (sv *numbers) raiseCounters(p *layout.Plan, rows []engine.Values) error {
	for _, property := range p.Duties.Numbers {
		highest := int64(0)
		for _, v := range rows {
			if n, ok := v[property.Index].(int64); ok && n <= schema.Farthest {
				highest = max(highest, n)
			}
		}
		if highest > 0 {
			if err := schema.RaiseCounter(sv.w, schema.CounterName(p.Table, property), highest); err != nil {
				return err
			}
		}
	}
	return nil
}

// assignNumbers assigns the autoassigned ints of new items.
func (sv *numbers) assignNumbers(p *layout.Plan, rows []engine.Values) error {
	if err := sv.raiseCounters(p, rows); err != nil {
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
		next, err := sv.takeNumbers(p, property, rows, lacking)
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

// takeNumbers reserves the next n numbers of a property and returns the first of them. Up to farthest, the counter is
// past all given numbers. Beyond farthest, takeNumbers checks whether the numbers are in use if they must be unique.
func (sv *numbers) takeNumbers(p *layout.Plan, property *engine.Property, rows []engine.Values, n int64) (first int64, err error) {
	name := schema.CounterName(p.Table, property)
	for reach := n; ; reach = max(n, min(2*reach, 1<<20)) { // doubled, to skip many used numbers with each query
		first, ok, err := schema.NextNumbers(sv.w, name, n)
		if err == nil && !ok {
			if err = sv.restartCounter(p, property, rows); err == nil {
				first, ok, err = schema.NextNumbers(sv.w, name, n)
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
		lowest, highest, err := sv.takenRange(p, property, first, first+min(reach-1, schema.LastNumber-first))
		free := lowest > last || highest == 0
		for _, v := range rows {
			if given, ok := v[property.Index].(int64); ok && given >= first && given <= last {
				free, highest = false, max(highest, given)
			}
		}
		if err != nil || free {
			return first, err
		}
		if err := schema.RaiseCounter(sv.w, name, highest); err != nil {
			return 0, err
		}
	}
}

// restartCounter handles a counter that has reached its end: it continues after the greatest number that is at most
// farthest. Earlier versions let clients move counters to the end.
func (sv *numbers) restartCounter(p *layout.Plan, property *engine.Property, rows []engine.Values) error {
	_, highest, err := sv.takenRange(p, property, 1, schema.Farthest)
	if err != nil {
		return err
	}
	if err := schema.SetCounter(sv.w, schema.CounterName(p.Table, property), highest); err != nil {
		return err
	}
	return sv.raiseCounters(p, rows)
}

// takenRange returns the least and the greatest number between from and to that items have. It returns 0 if there are
// none.
func (sv *numbers) takenRange(p *layout.Plan, property *engine.Property, from, to int64) (lowest, highest int64, err error) {
	column := p.Table.Column(property).Quoted
	bounded := func(b *sqldb.Builder, what string) {
		b.Add("(SELECT ", what, "(", column, ") FROM ", p.Table.Quoted, " WHERE ", column, " >= ")
		b.Bind(from)
		b.Add(" AND ", column, " <= ")
		b.Bind(to)
		b.Add(")")
	}
	b := sqldb.NewBuilder(sv.store.traits)
	b.Add("SELECT ")
	bounded(b, "min") // separate subqueries, since the index answers each of them at once
	b.Add(", ")
	bounded(b, "max")
	err = sv.w.VisitRows(b, 2, func(row []any) {
		lowest, _ = sqldb.ReadValue(engine.Int, row[0]).(int64)
		highest, _ = sqldb.ReadValue(engine.Int, row[1]).(int64)
	})
	return lowest, highest, err
}
