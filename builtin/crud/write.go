package crud

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"restsrv/engine"
)

// create answers POST /:class.
func (s *service) create(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	c, v, unknown, err := s.bind(r)
	if err != nil {
		return nil, err
	}
	it, err := s.data.Create(ctx, c, v, engine.WriteOptions{})
	if err != nil {
		return nil, err
	}
	resp := itemResponse(it)
	resp.SetHeader("Location", "/rest/"+url.PathEscape(r.Service)+"/"+url.PathEscape(c.FullName)+"/"+url.PathEscape(it.ID))
	s.warn(r, resp, "unknown attribute ignored", unknown)
	return resp, nil
}

// update answers PATCH and PUT /:class/:id; both change what is given and
// leave the rest.
func (s *service) update(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	c, v, unknown, err := s.bind(r)
	if err != nil {
		return nil, err
	}
	if err := s.wantNone(ctx, r, c); err != nil {
		return nil, err
	}
	it, err := s.data.Update(ctx, c, r.Param("id"), v, engine.WriteOptions{Match: ifMatch(r), Handling: r.Handling(s.handling)})
	if err != nil {
		return nil, err
	}
	resp := itemResponse(it)
	s.warn(r, resp, "unknown attribute ignored", unknown)
	return resp, nil
}

// remove answers DELETE /:class/:id.
func (s *service) remove(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	c, err := s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, err
	}
	if err := s.wantNone(ctx, r, c); err != nil {
		return nil, err
	}
	return nil, s.data.Delete(ctx, c, r.Param("id"), ifMatch(r))
}

// bind reads the class of the path and the values of the body.
func (s *service) bind(r *engine.Request) (c *engine.Class, v engine.Values, unknown []string, err error) {
	c, err = s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, nil, nil, err
	}
	fields, err := readFields(r)
	if err != nil {
		return nil, nil, nil, err
	}
	v, unknown, err = c.Bind(fields, r.Handling(s.handling))
	return c, v, unknown, err
}

// ifMatch reads If-Match; nil when the request has none. The revision is what
// stands before the dot of an entity tag; weak or foreign tags match nothing.
func ifMatch(r *engine.Request) *engine.Match {
	lines := r.Header["If-Match"]
	if len(lines) == 0 {
		return nil
	}
	m := &engine.Match{}
	for _, t := range strings.Split(strings.Join(lines, ","), ",") {
		t = strings.TrimSpace(t)
		if t == "*" {
			m.Any = true
			continue
		}
		tag, ok := strings.CutPrefix(t, `"`)
		revision, _, dotted := strings.Cut(strings.TrimSuffix(tag, `"`), ".")
		if n, err := strconv.ParseUint(revision, 36, 64); ok && dotted && err == nil {
			m.Revisions = append(m.Revisions, n)
		}
	}
	return m
}

// wantNone evaluates If-None-Match: * (RFC 9110 section 13.1.2), with which a
// client asks that the object does not exist: changing or deleting it then
// fails either way.
func (s *service) wantNone(ctx context.Context, r *engine.Request, c *engine.Class) error {
	if strings.TrimSpace(r.Header.Get("If-None-Match")) != "*" {
		return nil
	}
	id := r.Param("id")
	if _, err := s.data.Get(ctx, c, id); err != nil {
		return err
	}
	e := engine.Errorf(engine.Unmatched, "unmatched", "object %s of class %s exists, which If-None-Match: * rules out", engine.Quote(id), c.FullName)
	e.Class, e.ID = c.FullName, id
	return e
}
