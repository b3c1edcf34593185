package workflow

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// condition is a condition on items. The zero condition always holds.
type condition struct {
	filter *engine.Filter // of a condition without account variables; nil means always
	class  *engine.Class
	said   any  // as written, if it has account variables; otherwise nil
	broken bool // it cannot be evaluated
}

// filterFor returns the filter for an account. ok is false if the condition cannot be evaluated for it. A comparison with
// a property that the account lacks has the value unset.
func (c condition) filterFor(a *engine.Account, unset bool) (f *engine.Filter, ok bool) {
	if c.said == nil {
		return c.filter, !c.broken
	}
	if a == nil {
		return nil, false
	}
	f, err := query.ParseAccountFilter(c.class, c.said, a.Variable, unset)
	return f, err == nil
}

// permittingFilter returns the filter of a condition that gives something to the account. If the condition cannot be
// evaluated, it never holds.
func (c condition) permittingFilter(a *engine.Account) *engine.Filter {
	f, ok := c.filterFor(a, false)
	if !ok {
		return engine.Never()
	}
	return f
}

// restrictingFilter returns the filter of a condition that restricts the account; nil means always. If the condition
// cannot be evaluated, it always holds.
func (c condition) restrictingFilter(a *engine.Account) *engine.Filter {
	f, _ := c.filterFor(a, true)
	return f
}

// readCondition reads a condition on the item. If it cannot be evaluated, the mistake is reported under the rule.
func (r reader) readCondition(field string, rule *mistake.Rule) condition {
	said := r.Value(field)
	f, err := query.ParseOwnFilter(r.class, said)
	if err == nil {
		return condition{filter: f}
	}
	var names []string
	for _, sample := range []any{nil, "x"} { // some operations accept null and some accept text
		_, other := query.ParseAccountFilter(r.class, said, func(name string) (any, bool) {
			names = append(names, name)
			return sample, true
		}, false)
		if other == nil {
			r.defs.addVariables(names)
			r.reportUnknownProperties(field, names)
			return condition{class: r.class, said: said}
		}
		if len(names) > 0 {
			err = other
		}
	}
	r.Report(rule, r.At(field), jsonfile.Describe(said)+" ("+messageOf(err)+")", "a condition that can be evaluated")
	return condition{broken: true}
}

// reportUnknownProperties reports names that stand for properties of accounts which customProfile does not define.
func (r reader) reportUnknownProperties(field string, names []string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !slices.Contains([]string{"uid", "id", "name"}, name) && !slices.Contains(r.defs.properties, name) {
			r.Report(mistake.ConditionAccount, r.At(field), engine.Quote("$"+name), "an attribute of class "+r.class.FullName+", or a property that customProfile gives accounts")
		}
	}
}

// addVariables records account variables that conditions use.
func (d *Definitions) addVariables(names []string) {
	for _, name := range names {
		if name != "uid" && name != "id" && !slices.Contains(d.variables, name) {
			d.variables = append(d.variables, name)
		}
	}
}
