package store

import (
	"restsrv/engine"
)

// counter is the name of the counter of an autoassigned int. All classes of a
// table share it: their keys must differ.
func counter(t *table, p *engine.Property) string { return t.name + "#" + p.Name }

// numberOne gives a new item its autoassigned ints.
func (sv *save) numberOne(p *plan, v engine.Values) error {
	return sv.number(p, []engine.Values{v})
}

// raise lets counters pass the numbers that are given, so that these are not
// assigned again.
func (sv *save) raise(p *plan, rows []engine.Values) error {
	for _, property := range p.duties.numbers {
		highest := int64(0)
		for _, v := range rows {
			if n, ok := v[property.Index].(int64); ok {
				highest = max(highest, n)
			}
		}
		if highest > 0 {
			if err := raiseCounter(sv.w, counter(p.table, property), highest); err != nil {
				return err
			}
		}
	}
	return nil
}

// number gives new items their autoassigned ints.
func (sv *save) number(p *plan, rows []engine.Values) error {
	if err := sv.raise(p, rows); err != nil {
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
		next, err := nextNumbers(sv.w, counter(p.table, property), lacking)
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
