package workflow

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// condition is a condition on items. The zero condition is always true.
type condition struct {
	filter *engine.Filter // the filter if the condition uses no account variables; nil if the condition is always true
	class  *engine.Class
	said   any  // the condition as written, if it uses account variables; otherwise nil
	broken bool // the condition cannot be evaluated
}

// filterFor returns the filter for account a. If the condition compares with a property that the account does not
// have, the result of the comparison is unset. ok is false if the condition cannot be evaluated for the account.
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

// permittingFilter returns the filter for a condition that allows something. If the condition cannot be evaluated, the
// filter matches no item.
func (c condition) permittingFilter(a *engine.Account) *engine.Filter {
	f, ok := c.filterFor(a, false)
	if !ok {
		return engine.Never()
	}
	return f
}

// restrictingFilter returns the filter for a condition that forbids something; nil matches all items. If the condition
// cannot be evaluated, the filter also matches all items.
func (c condition) restrictingFilter(a *engine.Account) *engine.Filter {
	f, _ := c.filterFor(a, true)
	return f
}

// readCondition reads a condition on items. If the condition cannot be evaluated, readCondition reports rule as a
// mistake.
func (r reader) readCondition(field string, rule *mistake.Rule) condition {
	said := r.Value(field)
	f, err := query.ParseOwnFilter(r.class, said)
	if err == nil {
		return condition{filter: f}
	}
	var names []string
	for _, sample := range []any{nil, "x"} { // try both, because some operations accept null and others accept text
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

// reportUnknownProperties reports the names in a condition that are neither attributes nor account properties defined
// by customProfile.
func (r reader) reportUnknownProperties(field string, names []string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !slices.Contains([]string{"uid", "id", "name"}, name) && !slices.Contains(r.defs.properties, name) {
			r.Report(mistake.ConditionAccount, r.At(field), engine.Quote("$"+name), "an attribute of class "+r.class.FullName+", or a property that customProfile gives accounts")
		}
	}
}

// addVariables records the account variables that conditions use. It leaves out the id of the account.
func (d *Definitions) addVariables(names []string) {
	for _, name := range names {
		if name != "uid" && name != "id" && !slices.Contains(d.variables, name) {
			d.variables = append(d.variables, name)
		}
	}
}
