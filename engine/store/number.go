package store

import (
	"slices"

	"restsrv/engine"
)

// counterName returns the name of the counter of an autoassigned int. All classes of a table share it, because their
// keys must differ.
func counterName(t *table, p *engine.Property) string { return t.classes[0].FullName + "#" + p.Name }

// numberOne assigns the autoassigned ints of a new item.
func (sv *save) numberOne(p *plan, v engine.Values) error {
	return sv.assignNumbers(p, []engine.Values{v})
}

// farthest is the greatest given number that moves a counter. Greater numbers do not move it, so no client can exhaust
// the counter or move it beyond 2^53, above which JavaScript reads numbers from JSON inexactly.
const farthest = 1 << 52

// raiseCounters moves counters past the given numbers, so that these are not assigned again.
func (sv *save) raiseCounters(p *plan, rows []engine.Values) error {
	for _, property := range p.duties.numbers {
		highest := int64(0)
		for _, v := range rows {
			if n, ok := v[property.Index].(int64); ok && n <= farthest {
				highest = max(highest, n)
			}
		}
		if highest > 0 {
			if err := raiseCounter(sv.w, counterName(p.table, property), highest); err != nil {
				return err
			}
		}
	}
	return nil
}

// assignNumbers assigns the autoassigned ints of new items.
func (sv *save) assignNumbers(p *plan, rows []engine.Values) error {
	if err := sv.raiseCounters(p, rows); err != nil {
		return err
	}
	for _, property := range p.duties.numbers {
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
func (sv *save) takeNumbers(p *plan, property *engine.Property, rows []engine.Values, n int64) (first int64, err error) {
	name := counterName(p.table, property)
	for reach := n; ; reach = max(n, min(2*reach, 1<<20)) { // doubled, to skip many used numbers with each query
		first, ok, err := nextNumbers(sv.w, name, n)
		if err == nil && !ok {
			if err = sv.restartCounter(p, property, rows); err == nil {
				first, ok, err = nextNumbers(sv.w, name, n)
			}
		}
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return 0, engine.Errorf(engine.Invalid, "counter", "attribute %s of class %s: all numbers are assigned", engine.Quote(property.Name), p.class.FullName)
		case first+n-1 <= farthest || !p.table.mustBeUnique(property):
			return first, nil
		}
		last := first + n - 1
		lowest, highest, err := sv.takenRange(p, property, first, first+min(reach-1, lastNumber-first))
		free := lowest > last || highest == 0
		for _, v := range rows {
			if given, ok := v[property.Index].(int64); ok && given >= first && given <= last {
				free, highest = false, max(highest, given)
			}
		}
		if err != nil || free {
			return first, err
		}
		if err := raiseCounter(sv.w, name, highest); err != nil {
			return 0, err
		}
	}
}

// restartCounter handles a counter that has reached its end: it continues after the greatest number that is at most
// farthest. Earlier versions let clients move counters to the end.
func (sv *save) restartCounter(p *plan, property *engine.Property, rows []engine.Values) error {
	_, highest, err := sv.takenRange(p, property, 1, farthest)
	if err != nil {
		return err
	}
	if err := setCounter(sv.w, counterName(p.table, property), highest); err != nil {
		return err
	}
	return sv.raiseCounters(p, rows)
}

// takenRange returns the least and the greatest number between from and to that items have. It returns 0 if there are
// none.
func (sv *save) takenRange(p *plan, property *engine.Property, from, to int64) (lowest, highest int64, err error) {
	column := p.table.column(property).quoted
	bounded := func(b *builder, what string) {
		b.add("(SELECT ", what, "(", column, ") FROM ", p.table.quoted, " WHERE ", column, " >= ")
		b.bind(from)
		b.add(" AND ", column, " <= ")
		b.bind(to)
		b.add(")")
	}
	b := newBuilder(sv.store.traits)
	b.add("SELECT ")
	bounded(b, "min") // separate subqueries, since the index answers each of them at once
	b.add(", ")
	bounded(b, "max")
	err = sv.w.visitRows(b, 2, func(row []any) {
		lowest, _ = readValue(engine.Int, row[0]).(int64)
		highest, _ = readValue(engine.Int, row[1]).(int64)
	})
	return lowest, highest, err
}

// mustBeUnique reports whether values of a property must be unique.
func (t *table) mustBeUnique(p *engine.Property) bool {
	col := t.column(p)
	return col.key || slices.ContainsFunc(t.unique, func(index Index) bool { return slices.Contains(index.Columns, col.name) })
}
