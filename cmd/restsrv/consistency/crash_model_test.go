package consistency

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// itemName identifies an item.
type itemName struct{ class, id string }

func (n itemName) String() string { return n.class + " " + n.id }

// values holds the values of an item in a form that can be compared: text, a reference as an id,
// members of a collection as sorted ids, files as names and contents, and a stage as the names of
// its workflow and its state. It does not contain null and empty values.
type values map[string]string

// set returns a copy with some values changed. The arguments are alternately names and values; ""
// means null.
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

// String returns the values as text. It shortens them, since contents of files are long.
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

// mutation is a request that changes items. after holds the values of these items after the
// change; nil means that the item is deleted.
type mutation struct {
	method, path, contentType, body string

	after state
	id    string // of the request
}

// model holds the expected items of one writer. Their ids begin with the name of the writer, so no
// other writer changes them.
type model struct {
	name    string
	items   state
	pending *mutation // request without an answer

	answered, whole, none int // number of answered writes, and of writes without an answer that took effect (whole) or not (none)
}

// done applies a write to the model.
func (m *model) done(x *mutation) {
	for name, v := range x.after {
		if v == nil {
			delete(m.items, name)
		} else {
			m.items[name] = v
		}
	}
}

// check compares items in the database with the model. For a write that was not answered, it
// accepts two results: the whole write took effect, or no part of it. It then updates the model.
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
			return faults // consequences are not reported
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

// settle reports whether all items that a write changes have the values after it (whole), and
// whether all have the values before it (none).
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
