package oracle

import (
	"encoding/json"
	"slices"
	"strings"

	"restsrv/engine"
)

// Request is a request of the administrator. Class and ID are the class and the id in its path.
type Request struct {
	Number  int    `json:"number"`  // position in the sequence of requests; it is part of tokens (see World.newToken)
	Service string `json:"service"` // crud, acceptor, workflows or files
	Method  string `json:"method"`
	Class   string `json:"class,omitempty"`
	ID      string `json:"id,omitempty"`    // "" for requests to the class
	Eager   string `json:"eager,omitempty"` // the parameter _eager
	Body    any    `json:"body,omitempty"`  // Fields for crud; []any for acceptor and workflows
	Strict  bool   `json:"strict,omitempty"`
}

// Fields is a JSON object with its members in order. Values are nil, bool, int64, float64, string,
// []any and Fields.
type Fields []Field

// Field is a member of Fields.
type Field struct {
	Name  string
	Value any
}

// JSON returns an object. The arguments are alternately names and values of its members.
func JSON(members ...any) (f Fields) {
	for i := 0; i < len(members); i += 2 {
		f = append(f, Field{members[i].(string), members[i+1]})
	}
	return f
}

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, field := range f {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(Encode(field.Name) + ":" + Encode(field.Value))
	}
	if len(f) == 0 {
		b.WriteByte('{')
	}
	return []byte(b.String() + "}"), nil
}

// Encode returns a value as JSON.
func Encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Get returns the value of a member, or nil if it does not exist.
func (f Fields) Get(name string) any {
	for _, field := range f {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}

// Answer is the answer to a request. If the request succeeds, Body is set, and otherwise Code.
type Answer struct {
	Status int
	Code   string
	Body   string
	// Objects are the objects that the request has written.
	Objects []*Object
}

// Do executes a request and returns the answer. If the request fails, the World does not change.
func (w *World) Do(r Request) (a Answer) {
	switch r.Service {
	case "workflows":
		return w.answerWorkflow(r)
	case "files":
		return w.answerFile(r.ID)
	}
	s := &saving{World: w.copy()}
	s.request, s.tokens = r.Number, 0
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			if r.Service == "acceptor" {
				f.status = 400
			}
			a = Answer{Status: f.status, Code: f.code}
		default:
			panic(f)
		}
	}()
	a = s.do(r)
	*w = *s.World
	return a
}

func (s *saving) do(r Request) Answer {
	if r.Service == "acceptor" {
		return s.acceptRecords(r)
	}
	c := s.Class(r.Class)
	if c == nil {
		refuse(404, "unknown-class")
	}
	body, _ := r.Body.(Fields)
	eager := s.eagerPaths(c, r.Eager)
	var o *Object
	switch {
	case r.Method == "GET" && r.ID == "":
		return Answer{Status: 200, Body: s.List(c, r.Eager)}
	case r.Method == "GET":
		if o = s.Object(c, r.ID); o == nil {
			refuse(404, "not-found")
		}
		return Answer{Status: 200, Body: s.render(o, eager, nil)}
	case r.Method == "DELETE":
		s.remove(c, r.ID)
		return Answer{Status: 200}
	case r.Method == "POST":
		in := s.bindRecord(c, body, r.Strict)
		in.id, in.version = "", c.Version // crud takes the id from the key attributes
		o = s.save(in, creating)
	case s.Object(c, r.ID) == nil:
		refuse(404, "not-found")
	default:
		in := s.bindRecord(c, body, r.Strict)
		in.id = r.ID
		if len(in.values)+len(in.changes) == 0 { // no change, so the editor stays too
			o = s.Object(c, r.ID)
			break
		}
		o = s.save(in, updating)
	}
	s.settleReferences()
	return Answer{Status: 200, Body: s.render(o, eager, nil), Objects: s.touched}
}

// acceptRecords executes a request to acceptor. It saves the records in their order, all or none.
// The answer contains the objects in their final state.
func (s *saving) acceptRecords(r Request) Answer {
	list, _ := r.Body.([]any)
	var records []*record
	for _, e := range list {
		fields := e.(Fields)
		c := s.Class(valueText(fields.Get("_class")))
		if c == nil {
			refuse(404, "unknown-class")
		}
		in := s.bindRecord(c, fields, r.Strict)
		in.version = valueText(fields.Get("_classVer"))
		records = append(records, in)
	}
	var saved []*Object
	for _, in := range records {
		saved = append(saved, s.save(in, accepting))
	}
	s.settleReferences()
	var bodies []string
	for _, o := range saved {
		bodies = append(bodies, s.renderRecord(o))
	}
	return Answer{Status: 200, Body: "[" + strings.Join(bodies, ",") + "]", Objects: s.touched}
}

// bindRecord reads an object in a request.
func (s *saving) bindRecord(c *engine.Class, in Fields, strict bool) *record {
	r := &record{class: c, id: valueText(in.Get("_id")), strict: strict, values: map[string]any{}}
	for _, f := range in {
		p := c.Property(f.Name)
		switch {
		case p == nil && (strings.HasPrefix(f.Name, "_") || strings.HasSuffix(f.Name, "_str")):
		case p == nil && strict:
			refuse(400, "unknown-attribute")
		case p == nil, p.Formula != nil:
		case p.Type == engine.Collection:
			if f.Value != nil { // answers show null for a collection that is not loaded, and a client may send it back
				r.changes = append(r.changes, s.bindChange(p, f.Value, strict))
			}
		case p.Type == engine.Reference:
			r.values[p.Name] = s.bindTarget(p, f.Value, strict)
		case p.Type == engine.File:
			r.values[p.Name] = s.bindFile(p, f.Value)
		default:
			v := cast(p, f.Value)
			if strict {
				checkStrict(p, v)
			}
			r.values[p.Name] = v
		}
		if v, given := r.values[f.Name]; given && v == nil && (!p.Nullable || slices.Contains(c.Key, p.Name)) {
			refuse(400, "required")
		}
	}
	// The members of a JSON object have no order, so collections are changed in the order of the
	// class.
	slices.SortFunc(r.changes, func(a, b change) int { return a.property.Index - b.property.Index })
	return r
}

// bindTarget reads the input for a reference or for a member of a collection: an id or an object.
// An object with only an _id counts as an id.
func (s *saving) bindTarget(p *engine.Property, in any, strict bool) any {
	fields, object := in.(Fields)
	if !object {
		id := cast(&engine.Property{Type: engine.Reference, Target: p.Target}, in)
		if id == nil && p.Type == engine.Collection {
			refuse(400, "type")
		}
		return id
	}
	c := p.Target
	if name := fields.Get("_class"); name != nil {
		if c = s.Class(name.(string)); c == nil || !p.Allows(c) {
			refuse(400, "class")
		}
	}
	r := s.bindRecord(c, fields, strict)
	r.version = c.Version
	if r.id != "" && len(r.values)+len(r.changes) == 0 {
		return r.id
	}
	return r
}

func (s *saving) bindChange(p *engine.Property, in any, strict bool) change {
	c := change{property: p}
	list := func(v any) []any {
		elements, ok := v.([]any)
		if !ok {
			refuse(400, "type")
		}
		return elements
	}
	fields, named := in.(Fields)
	if !named {
		fields, c.replace = Fields{{"add", in}}, true
	}
	for _, f := range fields {
		for _, e := range list(f.Value) {
			switch f.Name {
			case "add":
				c.add = append(c.add, s.bindTarget(p, e, strict))
			case "remove":
				c.remove = append(c.remove, valueText(e))
			}
		}
	}
	return c
}

// checkStrict does the checks of a value that apply only in strict handling.
func checkStrict(p *engine.Property, v any) {
	if text, ok := v.(string); ok && p.Size > 0 && p.Type.Textual() && p.Type != engine.GUID && len([]rune(text)) > p.Size {
		refuse(400, "size")
	}
	if p.Selection == nil || v == nil {
		return
	}
	if _, offered := selectionLabel(p, v); !offered {
		refuse(400, "selection")
	}
}
