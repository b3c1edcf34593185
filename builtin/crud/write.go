package crud

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/service"
)

// create answers POST /:class.
func (s *crud) create(ctx context.Context, r *service.Request) (*service.Response, error) {
	in, err := s.bindInput(ctx, r, engine.MayUse)
	if err != nil {
		return nil, err
	}
	it, err := s.data.Create(ctx, in.class, in.values, engine.WriteOptions{Handling: r.Handling(s.handling)})
	if err != nil {
		return nil, err
	}
	resp := s.answerWritten(ctx, r, it, in)
	resp.SetHeader("Location", "/rest/"+url.PathEscape(r.Service)+"/"+url.PathEscape(in.class.FullName)+"/"+url.PathEscape(it.ID))
	return resp, nil
}

// update answers PATCH and PUT /:class/:id. Both change only the given attributes.
func (s *crud) update(ctx context.Context, r *service.Request) (*service.Response, error) {
	in, err := s.bindInput(ctx, r, engine.MayWrite)
	if err != nil {
		return nil, err
	}
	if err := s.wantNone(ctx, r, in.class); err != nil {
		return nil, err
	}
	it, err := s.data.Update(ctx, in.class, r.Param("id"), in.values, engine.WriteOptions{Match: ifMatch(r), Handling: r.Handling(s.handling)})
	if err != nil {
		return nil, err
	}
	return s.answerWritten(ctx, r, it, in), nil
}

// answerWritten returns the response to a write: the object, together with the objects that _eager
// requests. If reading the requested objects fails, the error is only logged, because the write is
// already committed. The response then contains the object alone.
func (s *crud) answerWritten(ctx context.Context, r *service.Request, it *engine.Item, in *input) *service.Response {
	shown := it
	if len(in.shape.load) > 0 {
		full, err := s.data.Get(ctx, in.class, it.ID, in.shape.load...)
		if err == nil {
			shown = full
		} else if engine.CodeOf(err) != engine.NotFound && engine.CodeOf(err) != engine.Forbidden { // deleted meanwhile, or hidden from this account
			s.log.Warn("a saved object could not be read with _eager; it is answered without", "request", r.ID, "service", r.Service, "error", err)
		}
	}
	resp := itemResponse(shown, in.shape)
	if len(resp.Body) > engine.MaxAnswer && shown != it {
		resp = itemResponse(it, in.shape)
	}
	s.warnIgnored(r, resp, "unknown attribute ignored", in.unknown)
	return resp
}

// remove answers DELETE /:class/:id.
func (s *crud) remove(ctx context.Context, r *service.Request) (*service.Response, error) {
	c, err := s.pathClass(ctx, r, engine.MayDelete)
	if err != nil {
		return nil, err
	}
	if err := s.wantNone(ctx, r, c); err != nil {
		return nil, err
	}
	return nil, s.data.Delete(ctx, c, r.Param("id"), ifMatch(r))
}

// input is a parsed request that writes an object.
type input struct {
	class  *engine.Class
	values engine.Values
	shape  shape // form of the object in the answer
	// unknown holds the unknown attributes, which are ignored.
	unknown []string
}

// bindInput reads the class in the path and the values in the body. If the values contain files, it
// stores these files. It first checks that the account has permission p for some object of the
// class.
func (s *crud) bindInput(ctx context.Context, r *service.Request, p engine.Permission) (*input, error) {
	c, err := s.pathClass(ctx, r, p)
	if err != nil {
		return nil, err
	}
	in := &input{class: c}
	if in.shape, _, err = readShape(c, r); err != nil {
		return nil, err
	}
	multipart := r.MediaType() == "multipart/form-data"
	if p == engine.MayWrite && multipart {
		if err := s.checkUpdate(ctx, c, r); err != nil {
			return nil, err
		}
	}
	fields, err := s.readFields(ctx, c, r)
	if err != nil {
		return nil, err
	}
	if in.values, in.unknown, err = c.Bind(fields, r.Handling(s.handling)); err != nil {
		return nil, err
	}
	if p == engine.MayWrite && !multipart && hasUploads(in.values) {
		if err := s.checkUpdate(ctx, c, r); err != nil {
			return nil, err
		}
	}
	return in, s.files.Accept(ctx, c, r.Param("id"), in.values)
}

// checkUpdate makes an update without values, to check that the account may change the object. It
// is called before files are stored.
func (s *crud) checkUpdate(ctx context.Context, c *engine.Class, r *service.Request) error {
	_, err := s.data.Update(ctx, c, r.Param("id"), engine.NewValues(c), engine.WriteOptions{Match: ifMatch(r)})
	return err
}

// hasUploads reports whether the values contain files. It does not look into nested objects.
func hasUploads(v engine.Values) bool {
	return slices.ContainsFunc(v, func(value any) bool {
		switch value.(type) {
		case *engine.Upload, []*engine.Upload:
			return true
		}
		return false
	})
}

// ifMatch reads the header If-Match. It returns nil if the request does not have one. The revision
// is the part of an entity tag before the dot. Weak tags, and tags that this server did not make,
// never match.
func ifMatch(r *service.Request) *engine.Match {
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

// wantNone handles the header If-None-Match: * of a change or deletion (RFC 9110 section 13.1.2).
// It returns nil if the request does not have this header. Otherwise the request always fails: if
// the object exists, the header excludes it, and if not, there is no object to change or delete.
func (s *crud) wantNone(ctx context.Context, r *service.Request, c *engine.Class) error {
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
