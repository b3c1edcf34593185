package exchange

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Limits of a query string or form. They are the same as in IONDV.
const (
	maxParameters = 1000
	maxNesting    = 5
	maxIndex      = 20 // of a[20]; a greater index is treated as a name
)

// parseQuery parses name=value pairs. Repeated names and a[]=x make arrays,
// a[b]=x makes objects, and all leaves are strings. Invalid escapes are kept as
// they are.
func parseQuery(s string) engine.Fields {
	if fields, ok := parseFlat(s); ok {
		return fields
	}
	root := &node{}
	for i := 0; s != "" && i < maxParameters; i++ {
		var pair string
		pair, s, _ = strings.Cut(s, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		path := keyPath(unescape(name))
		if slices.Contains(path, "__proto__") {
			continue
		}
		root.child(path[0]).set(path[1:], unescape(value))
	}
	return root.fields()
}

// maxFlat is the maximum number of pairs that parseFlat compares with each
// other.
const maxFlat = 8

// parseFlat parses the usual form of a query, with few distinct names and no
// brackets. It returns false for other queries.
func parseFlat(s string) (engine.Fields, bool) {
	n := strings.Count(s, "&") + 1
	if n > maxFlat || strings.Contains(s, "[") || strings.Contains(s, "%5") || strings.Contains(s, "__") {
		return nil, false
	}
	fields := make(engine.Fields, 0, n)
	for s != "" {
		var pair string
		pair, s, _ = strings.Cut(s, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		if slices.ContainsFunc(fields, func(f engine.Field) bool { return f.Name == name }) {
			return nil, false
		}
		fields = append(fields, engine.Field{Name: name, Value: unescape(value)})
	}
	return fields, true
}

func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return strings.ReplaceAll(s, "+", " ")
}

// keyPath splits a[b][c] into a, b, c. Parts that are nested too deep stay
// together in the last name.
func keyPath(key string) []string {
	open := strings.IndexByte(key, '[')
	if open <= 0 || !strings.Contains(key[open:], "]") {
		return []string{key}
	}
	path, rest := []string{key[:open]}, key[open:]
	for strings.HasPrefix(rest, "[") {
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			break
		}
		if len(path) > maxNesting {
			return append(path, rest)
		}
		path = append(path, rest[1:end])
		rest = rest[end+1:]
	}
	return path
}

// node is one name of the query. It contains values or child nodes.
type node struct {
	texts []string
	names []string
	below map[string]*node
	next  int // next index for a[]
}

func (n *node) set(path []string, value string) {
	if len(path) == 0 {
		n.texts = append(n.texts, value)
		return
	}
	name := path[0]
	if name == "" {
		for n.below[strconv.Itoa(n.next)] != nil {
			n.next++
		}
		name = strconv.Itoa(n.next)
	}
	n.child(name).set(path[1:], value)
}

func (n *node) child(name string) *node {
	child := n.below[name]
	if child == nil {
		child = &node{}
		if n.below == nil {
			n.below = map[string]*node{}
		}
		n.below[name] = child
		n.names = append(n.names, name)
	}
	return child
}

// value returns the decoded JSON of the node.
func (n *node) value() any {
	if len(n.names) == 0 {
		if len(n.texts) == 1 {
			return n.texts[0]
		}
		return engine.Texts(n.texts)
	}
	if n.isList() {
		list := engine.Texts(n.texts)
		for _, name := range n.names {
			list = append(list, n.below[name].value())
		}
		return list
	}
	return n.fields()
}

func (n *node) fields() engine.Fields {
	fields := make(engine.Fields, 0, len(n.names))
	for _, name := range n.names {
		fields = append(fields, engine.Field{Name: name, Value: n.below[name].value()})
	}
	return fields
}

// isList reports whether all names are small indexes.
func (n *node) isList() bool {
	for _, name := range n.names {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i > maxIndex+n.next || strconv.Itoa(i) != name {
			return false
		}
	}
	return true
}
