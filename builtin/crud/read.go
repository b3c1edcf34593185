package crud

import (
	"context"
	"net/url"
	"sort"
	"strconv"
	"strings"

	"restsrv/engine"
)

// fetch answers GET /:class/:id.
func (s *service) fetch(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	c, err := s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, err
	}
	unknown, err := s.fetchParameters(c, r)
	if err != nil {
		return nil, err
	}
	it, err := s.data.Get(ctx, c, r.Param("id"))
	if err != nil {
		return nil, err
	}
	resp := itemResponse(it)
	s.warn(r, resp, "unknown parameter ignored", unknown)
	return resp, nil
}

func (s *service) fetchParameters(c *engine.Class, r *engine.Request) (unknown []string, err error) {
	q, err := r.Query()
	if err != nil {
		return nil, err
	}
	for _, name := range sortedNames(q) {
		if isEager(name) {
			if err := checkEager(c, q[name]); err != nil {
				return nil, err
			}
			continue
		}
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 && r.Handling(s.handling) == engine.Strict {
		return nil, engine.Errorf(engine.Invalid, "query", "unknown parameter %s: one object is read with _eager at most", engine.Quote(unknown[0]))
	}
	return unknown, nil
}

func itemResponse(it *engine.Item) *engine.Response {
	resp := engine.JSON(it.AppendJSON(make([]byte, 0, 512)))
	resp.ETag = it.ETag()
	return resp
}

// list answers GET /:class.
func (s *service) list(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	c, err := s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, err
	}
	q, unknown, err := s.listQuery(c, r)
	if err != nil {
		return nil, err
	}
	buffer := s.buffers.Get().(*[]byte)
	b := append((*buffer)[:0], '[')
	err = s.data.List(ctx, q, func(it *engine.Item) error {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = it.AppendJSON(b)
		return nil
	})
	b = append(b, ']')
	done := func() {
		if cap(b) <= maxBuffer {
			*buffer = b
			s.buffers.Put(buffer)
		}
	}
	if err != nil {
		done()
		return nil, err
	}
	resp := engine.JSON(b)
	resp.Done = done
	s.warn(r, resp, "unknown parameter ignored", unknown.parameters)
	s.warn(r, resp, "unknown attribute matches nothing", unknown.attributes)
	return resp, nil
}

// unknownNames are what a query string named in vain.
type unknownNames struct{ parameters, attributes []string }

// listQuery reads _offset, _count, _eager and the filters by attribute
// (interface.md, "GET list of objects").
func (s *service) listQuery(c *engine.Class, r *engine.Request) (*engine.Query, unknownNames, error) {
	var unknown unknownNames
	query := &engine.Query{Class: c, Count: defaultCount}
	parameters, err := r.Query()
	if err != nil {
		return nil, unknown, err
	}
	if len(parameters) == 0 {
		return query, unknown, nil
	}
	strict := r.Handling(s.handling) == engine.Strict
	var filters []*engine.Filter
	for _, name := range sortedNames(parameters) {
		values := parameters[name]
		switch {
		case name == "_offset":
			query.Offset, err = number(name, values)
		case name == "_count":
			if query.Count, err = number(name, values); err == nil && query.Count > s.maxCount {
				err = engine.Errorf(engine.Invalid, "count", "_count is at most %d, found %s", s.maxCount, engine.Quote(values[0]))
			}
		case isEager(name):
			err = checkEager(c, values)
		default:
			var f *engine.Filter
			if f, err = s.attributeFilter(c, name, values, &unknown); f != nil {
				filters = append(filters, f)
			}
		}
		if err != nil {
			return nil, unknown, err
		}
	}
	if strict {
		if err := refuse(c, unknown); err != nil {
			return nil, unknown, err
		}
	}
	query.Filter = engine.And(filters...)
	return query, unknown, nil
}

// attributeFilter is the condition of one parameter: the attribute is any of
// the values. An attribute that the class does not have matches nothing.
func (s *service) attributeFilter(c *engine.Class, name string, values []string, unknown *unknownNames) (*engine.Filter, error) {
	p := c.Property(name)
	if p == nil {
		if strings.HasPrefix(name, "_") {
			unknown.parameters = append(unknown.parameters, name)
			return nil, nil
		}
		unknown.attributes = append(unknown.attributes, name)
		return engine.Never(), nil
	}
	if len(values) == 1 {
		return engine.Equal(p, values[0])
	}
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return engine.AnyOf(p, list)
}

func refuse(c *engine.Class, unknown unknownNames) error {
	if len(unknown.parameters) > 0 {
		return engine.Errorf(engine.Invalid, "query", "unknown parameter %s: known are _offset, _count, _eager and the attributes of %s", engine.Quote(unknown.parameters[0]), c.FullName)
	}
	if len(unknown.attributes) > 0 {
		e := engine.Errorf(engine.Invalid, "unknown-attribute", "class %s has no attribute %s", c.FullName, engine.Quote(unknown.attributes[0]))
		e.Class, e.Attribute = c.FullName, unknown.attributes[0]
		return e
	}
	return nil
}

func number(name string, values []string) (int, error) {
	if len(values) == 1 && values[0] != "" && strings.Trim(values[0], "0123456789") == "" {
		if n, err := strconv.Atoi(values[0]); err == nil {
			return n, nil
		}
	}
	return 0, engine.Errorf(engine.Invalid, "count", "%s takes one whole number, 0 or more, found %s", name, engine.Quote(strings.Join(values, ", ")))
}

func isEager(name string) bool { return name == "_eager" || name == "_eager[]" }

// checkEager refuses names that are no attributes. Every type there is now is
// its own value, so there is nothing to load.
func checkEager(c *engine.Class, values []string) error {
	for _, v := range values {
		for _, name := range strings.Split(v, "|") {
			if name != "" && c.Property(name) == nil {
				e := engine.Errorf(engine.Invalid, "unknown-attribute", "_eager: class %s has no attribute %s", c.FullName, engine.Quote(name))
				e.Class, e.Attribute = c.FullName, name
				return e
			}
		}
	}
	return nil
}

// sortedNames makes answers and errors the same every time.
func sortedNames(q url.Values) []string {
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
