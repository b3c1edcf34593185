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

// number gives new items their autoassigned ints. A number that is given
// raises the counter, so that it is not assigned again.
func (sv *save) number(p *plan, rows []engine.Values) error {
	for _, property := range p.duties.numbers {
		if property.Default != nil || property.Computed != nil {
			continue
		}
		lacking, highest := int64(0), int64(0)
		for _, v := range rows {
			switch n := v[property.Index].(type) {
			case int64:
				highest = max(highest, n)
			case nil:
			default:
				lacking++
			}
		}
		name := counter(p.table, property)
		if highest > 0 {
			if err := raiseCounter(sv.w, name, highest); err != nil {
				return err
			}
		}
		if lacking == 0 {
			continue
		}
		next, err := nextNumbers(sv.w, name, lacking)
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
