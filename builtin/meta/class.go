package meta

import (
	"context"
	"net/url"
	"strings"

	"restsrv/engine"
	"restsrv/engine/describe"
	"restsrv/engine/service"
)

// pathClass returns the class that the path of the request names, as the account sees it.
func (s *meta) pathClass(ctx context.Context, r *service.Request, q url.Values) (*engine.Class, error) {
	return s.findClass(ctx, r.Param("class"), q)
}

// findClass returns the class with the given name, as the account sees it. If the name has no
// namespace, the parameter namespace is used.
func (s *meta) findClass(ctx context.Context, name string, q url.Values) (*engine.Class, error) {
	if !strings.Contains(name, "@") {
		name = engine.FullName(name, q.Get("namespace"))
	}
	c, err := s.meta.Class(name)
	if err != nil {
		return nil, err
	}
	return engine.ViewOf(ctx, s.data, c)
}

// describeClass returns the description of a class as JSON. It caches the description, except
// for views. A view is a class without the attributes that are hidden from the account, so it
// changes with the account.
func (s *meta) describeClass(c *engine.Class) any {
	if made, ok := s.described.Load(c); ok {
		return made
	}
	said := stripPrivate(describe.Class(c))
	if c.Base() != c {
		return said // not cached: a view changes with the account and its permissions
	}
	made, _ := s.described.LoadOrStore(c, engine.JSONText(engine.AppendValue(nil, said)))
	return made
}

// getMeta answers GET /getMeta/:class.
func (s *meta) getMeta(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	c, err := s.pathClass(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return s.describeClass(c), nil
}

// listMeta answers GET /listMeta with the descriptions of all classes. The parameter namespace
// restricts the answer to classes of that namespace. The parameter ancestor restricts it to
// descendants of that class; if direct is set too, to direct descendants.
func (s *meta) listMeta(ctx context.Context, _ *service.Request, q url.Values) (any, error) {
	all := []any{}
	if name := q.Get("ancestor"); name != "" {
		c, err := s.findClass(ctx, name, q)
		if err != nil {
			return nil, err
		}
		for _, d := range c.Descendants {
			if !isSet(q, "direct") || d.Ancestor == c {
				all = append(all, s.describeClass(d))
			}
		}
		return all, nil
	}
	namespace := q.Get("namespace")
	for _, c := range s.meta.Classes() {
		if namespace != "" && namespace != c.Namespace {
			continue
		}
		view, err := engine.ViewOf(ctx, s.data, c)
		if err != nil {
			return nil, err
		}
		all = append(all, s.describeClass(view))
	}
	return all, nil
}

// isSet reports whether a flag in the parameters is set.
func isSet(q url.Values, name string) bool {
	switch strings.ToLower(q.Get(name)) {
	case "", "0", "false":
		return false
	}
	return true
}

// getAncestor answers GET /ancestor/:class. The body is empty if the class has no ancestor.
func (s *meta) getAncestor(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	c, err := s.pathClass(ctx, r, q)
	if err != nil || c.Ancestor == nil {
		return nil, err
	}
	return s.describeClass(c.Ancestor), nil
}

// propertyMetas answers GET /propertyMetas/:class.
func (s *meta) propertyMetas(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	c, err := s.pathClass(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return describe.Properties(c), nil
}
