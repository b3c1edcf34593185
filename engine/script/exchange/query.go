package exchange

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Limits for a query string or form. IONDV has the same limits.
const (
	maxParameters = 1000 // number of name=value pairs
	maxNesting    = 5    // number of brackets in a name
	maxIndex      = 20   // largest index of an array, as in a[20]; a greater index counts as the name of a member
)

// parseQuery parses name=value pairs. Repeated names and a[]=x make arrays, and a[b]=x makes objects. All values are
// strings. Invalid escape sequences stay as they are.
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

// maxFlat is the maximum number of pairs for parseFlat, which compares each name with all others.
const maxFlat = 8

// parseFlat parses a query with few names and no brackets, which is the usual case. It returns false for any other
// query.
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

// keyPath splits a name: a[b][c] becomes a, b, c. If there are more than maxNesting brackets, the rest stays together
// in the last element.
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

// node is one level of a name in the query: for a[b]=x, a is a node with the child b. A node has values or child
// nodes.
type node struct {
	texts []string         // values
	names []string         // names of the child nodes, in the order of the query
	below map[string]*node // child nodes by name
	next  int              // next index for a[]
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

// value returns the parsed value of the node: a string, a list or engine.Fields.
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

// isList reports whether the names of all child nodes are small indexes, so that the node is an array.
func (n *node) isList() bool {
	for _, name := range n.names {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i > maxIndex+n.next || strconv.Itoa(i) != name {
			return false
		}
	}
	return true
}
