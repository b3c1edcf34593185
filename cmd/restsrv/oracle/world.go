// Package oracle is a simple model of the server, for tests. It computes the answers of the
// services crud, acceptor and workflows, and the stored data, so that tests can compare them with
// the real server. One administrator sends all requests, one after the other.
//
// The model should be easy to read, and shares no code with engine/store. All objects are in
// memory. A request works on a copy, which replaces the original only if the request succeeds. The
// model uses the classes in engine.Class. If it cannot know a value, such as a generated id, its
// answers contain a token (see World.newToken).
package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// World is the stored data: all objects, links and counters.
type World struct {
	// Formulas compute calculated attributes and default values. The key is the class that declares
	// the attribute and the name of the attribute, such as "line.total". The result has the types of
	// Object.Values.
	Formulas map[string]func(*World, *Object) any
	// Workflows are the workflows of all classes, ordered by name.
	Workflows []Workflow

	classes  map[string]*engine.Class
	objects  []*Object // in the order in which they were created
	links    map[string][]link
	counters map[string]int64
	request  int // number of the current request
	tokens   int // number of tokens in the current request
}

// Object is a stored object.
type Object struct {
	Class *engine.Class
	// Values are the stored attributes by name: nil, bool, int64, float64, string or *File. The
	// value of a reference is the id of its target.
	Values                   map[string]any
	Creator, Editor, Version string

	stages map[string]string // state to which the object was moved, by workflow
}

// link says that an object is in a collection. owner is the id of the object with the collection,
// and member is the id of the object in the collection. The objects need not exist: if an object
// gets one of the ids later, the link belongs to it.
type link struct{ owner, member string }

// account is the administrator that sends all requests.
const account = "admin@local"

// New returns a world without objects.
func New(classes []*engine.Class) *World {
	w := &World{classes: map[string]*engine.Class{}, links: map[string][]link{}, counters: map[string]int64{}}
	for _, c := range classes {
		w.classes[c.FullName] = c
	}
	return w
}

// copy returns a copy of w that can be changed without changing w.
func (w *World) copy() *World {
	c := *w
	c.counters, c.links, c.objects = maps.Clone(w.counters), maps.Clone(w.links), nil
	for table, links := range c.links {
		c.links[table] = slices.Clone(links)
	}
	for _, o := range w.objects {
		clone := *o
		clone.Values = maps.Clone(o.Values)
		c.objects = append(c.objects, &clone)
	}
	return &c
}

// State returns all stored data as text. Two worlds with the same state and the same classes give
// the same answers, except for the order of lists.
func (w *World) State() string {
	var lines []string
	for _, o := range w.objects {
		lines = append(lines, Encode([]any{o.Class.FullName, o.Values, o.Creator, o.Editor, o.Version, o.stages}))
	}
	for table, links := range w.links {
		for _, l := range links {
			lines = append(lines, Encode([]any{table, l.owner, l.member}))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + Encode(w.counters)
}

// newToken returns a new token. It stands for text that the model cannot know, such as a generated
// id. The first answer of the server that contains the text shows its value.
func (w *World) newToken() string {
	w.tokens++
	return fmt.Sprintf("«%d.%d»", w.request, w.tokens)
}

// ID returns the key as text. The parts of a composite key are joined.
func (o *Object) ID() string { return idOf(o.Class, o.Values) }

func idOf(c *engine.Class, values map[string]any) string {
	var parts []string
	for _, p := range c.KeyProperties() {
		part := valueText(values[p.Name])
		if part == "" {
			return ""
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, engine.IDSeparator)
}

// Objects returns the objects of a class and of its descendants, in the order of their creation.
func (w *World) Objects(c *engine.Class) (found []*Object) {
	for _, o := range w.objects {
		if isBelow(o.Class, c) {
			found = append(found, o)
		}
	}
	return found
}

// Object returns the object with this id in a class or its descendants, or nil.
func (w *World) Object(c *engine.Class, id string) *Object {
	for _, o := range w.Objects(c) {
		if o.ID() == id {
			return o
		}
	}
	return nil
}

// Class returns the class with a full name.
func (w *World) Class(name string) *engine.Class { return w.classes[name] }

// isBelow reports whether c is the class above or a descendant of it.
func isBelow(c, above *engine.Class) bool {
	for ; c != nil; c = c.Ancestor {
		if c == above {
			return true
		}
	}
	return false
}

// fault is the value of the panic that ends a failing request.
type fault struct {
	status int
	code   string // field "code" of the error response
}

// refuse ends the request with an error, by a panic. Do discards the changes.
func refuse(status int, code string) { panic(fault{status, code}) }

// valueText returns a value as text, such as a part of an id.
func valueText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// isStored reports whether objects store a value of the property.
func isStored(p *engine.Property) bool {
	return p.Type != engine.Collection && p.Formula == nil && p.Back == nil
}

// cast converts a value in a request to the stored type. If that would lose information, it refuses
// the request: "12" and 3.0 are whole numbers, "12a" and 3.5 are not.
func cast(p *engine.Property, v any) any {
	if v == nil {
		return nil
	}
	s, isText := v.(string)
	switch p.Type {
	case engine.Int:
		switch v := v.(type) {
		case int64:
			return v
		case float64:
			if v == float64(int64(v)) {
				return int64(v)
			}
		case string:
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return n
			}
		}
	case engine.Real:
		switch v := v.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		case string:
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				return f
			}
		}
	case engine.Boolean:
		switch v {
		case true, "true":
			return true
		case false, "false":
			return false
		}
	case engine.DateTime:
		switch { // requests have these two forms only
		case isText && len(s) == len("2020-01-02"):
			return s + "T00:00:00.000Z"
		case isText && strings.HasSuffix(s, "Z"):
			return s
		}
	case engine.Reference:
		if isText && s == "" {
			return nil
		}
		id := valueText(v)
		if key := p.Target.KeyProperties(); len(key) > 1 || valueText(cast(key[0], v)) == id {
			return id
		}
	default:
		switch v.(type) {
		case string, int64, float64, bool:
			return valueText(v)
		}
	}
	refuse(400, "type")
	return nil
}
