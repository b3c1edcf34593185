package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// itemName is what tells an item from all others.
type itemName struct{ class, id string }

func (n itemName) String() string { return n.class + " " + n.id }

// values are what an item holds, in a form that compares: text as it is, a
// reference as an id, members of a collection as their ids in order, files as
// names and contents, a stage as the workflow's name and its own. What is null
// or empty is left out.
type values map[string]string

// set returns a copy with other values, name and value in turn; "" is null.
func (v values) set(pairs ...string) values {
	v = maps.Clone(v)
	if v == nil {
		v = values{}
	}
	for i := 0; i < len(pairs); i += 2 {
		if v[pairs[i]] = pairs[i+1]; pairs[i+1] == "" {
			delete(v, pairs[i])
		}
	}
	return v
}

// String cuts contents of files, which are long.
func (v values) String() string {
	if v == nil {
		return "nothing"
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, " %s=%.60q", name, v[name])
	}
	return "{" + strings.TrimPrefix(b.String(), " ") + "}"
}

// state is a set of items.
type state map[itemName]values

// mutation is a request that changes items, and what these are afterwards: nil for
// one that is gone.
type mutation struct {
	method, path, contentType, body string

	after state
	id    string // of the request
}

// model is what a writer knows for certain of the items that are its own: those
// whose ids begin with its name. Nobody else changes them.
type model struct {
	name    string
	items   state
	pending *mutation // sent, and not answered

	answered, whole, none int // writes: how many were answered, and what became of others
}

// done takes over a write.
func (m *model) done(x *mutation) {
	for name, v := range x.after {
		if v == nil {
			delete(m.items, name)
		} else {
			m.items[name] = v
		}
	}
}

// check compares what was found with what is known. Of a write that was not
// answered it learns here what has become of it: everything or nothing.
func (m *model) check(found state) (faults []string) {
	if x := m.pending; x != nil {
		m.pending = nil
		whole, none := m.settle(x, found)
		switch {
		case whole && !none:
			m.whole++
			m.done(x)
		case none:
			m.none++
		default:
			faults = append(faults, m.half(x, found))
			return faults // what follows from it is no news
		}
	}
	for name, want := range m.items {
		if got := found[name]; !maps.Equal(got, want) {
			faults = append(faults, fmt.Sprintf("%s: answered was %s, found is %s", name, want, got))
		}
	}
	for name, got := range found {
		if m.owns(name) && m.items[name] == nil {
			faults = append(faults, fmt.Sprintf("%s: answered was nothing, found is %s", name, got))
		}
	}
	return faults
}

func (m *model) owns(name itemName) bool { return strings.HasPrefix(name.id, m.name+"-") }

// settle reports whether all that a write changes is as after it, and as before.
func (m *model) settle(x *mutation, found state) (whole, none bool) {
	whole, none = true, true
	for name, after := range x.after {
		whole = whole && maps.Equal(found[name], after)
		none = none && maps.Equal(found[name], m.items[name])
	}
	return whole, none
}

func (m *model) half(x *mutation, found state) string {
	var b strings.Builder
	fmt.Fprintf(&b, "half of %s %s, which was not answered:", x.method, x.path)
	for _, name := range slices.SortedFunc(maps.Keys(x.after), func(a, b itemName) int { return strings.Compare(a.String(), b.String()) }) {
		fmt.Fprintf(&b, "\n  %s: before %s, after %s, found %s", name, m.items[name], x.after[name], found[name])
	}
	return b.String()
}
