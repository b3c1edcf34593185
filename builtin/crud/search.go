package crud

import (
	"context"
	"encoding/json"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// search answers SEARCH /:class, and POST /:class/_search for clients that cannot send SEARCH. It
// is a list with conditions in the body. Parameters of the URL are used too and take precedence
// over the body, so that a client can use the URL of the next page with the same body.
func (s *crud) search(ctx context.Context, r *service.Request) (*service.Response, error) {
	c, err := s.pathClass(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	l, err := s.readListing(c, r)
	if err != nil {
		return nil, err
	}
	body, err := searchBody(r)
	if err != nil {
		return nil, err
	}
	for _, f := range body {
		if err := s.readMember(l, f); err != nil {
			return nil, err
		}
	}
	return s.answerList(ctx, r, l)
}

// searchBody reads the body, a JSON object. An empty body counts as an empty object.
func searchBody(r *service.Request) (engine.Fields, error) {
	body, err := r.ReadBody()
	if err != nil || len(body) == 0 {
		return nil, err
	}
	if t := r.MediaType(); !isJSON(t) {
		return nil, engine.Errorf(engine.Invalid, "media-type", "a search is sent as application/json, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
	}
	v, err := wire.Decode(body)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "json", "a search is a JSON object of filter, sort, offset, count, forceEnrichment and nestingDepth, found %s", kindOf(v))
	}
	return fields, nil
}

// readMember reads one field of the body. null has no effect.
func (s *crud) readMember(l *listing, f engine.Field) error {
	switch f.Name {
	case "filter", "sort", "offset", "count", "forceEnrichment", "nestingDepth":
	default:
		l.unknown.parameters = append(l.unknown.parameters, f.Name)
		return nil
	}
	if f.Value == nil {
		return nil
	}
	var err error
	switch f.Name {
	case "filter":
		return l.addFilter(f.Value)
	case "sort":
		if l.given.Has("_sort") {
			return nil
		}
		return l.addSort(f.Value)
	case "forceEnrichment":
		return l.loads.Enrichment(f.Value)
	case "nestingDepth":
		var n int
		if n, err = wholeNumber(f); err == nil && n > query.MaxLoadDepth {
			err = engine.Errorf(engine.Invalid, "path", "nestingDepth is at most %d, found %d", query.MaxLoadDepth, n)
		}
		if err == nil {
			err = l.loads.Nested(n)
		}
	case "offset":
		err = setNumber(&l.query.Offset, f, l.given.Has("_offset"))
	case "count":
		if err = setNumber(&l.query.Count, f, l.given.Has("_count")); err == nil {
			err = s.checkCount("count", l.query.Count)
		}
	}
	return err
}

// addSort reads the sort order in a body. Like IONDV, it ignores unknown attributes.
func (l *listing) addSort(v any) error {
	terms, ok := v.(engine.Fields)
	if !ok {
		var err error
		l.query.Sort, err = query.ParseSort(l.class, v)
		return err
	}
	known := terms[:0:0]
	for _, term := range terms {
		_, err := query.ParseSort(l.class, engine.Fields{term})
		if e, ok := err.(*engine.Error); ok && e.Reason == "unknown-attribute" {
			l.unknown.terms = append(l.unknown.terms, term.Name)
			continue
		}
		known = append(known, term)
	}
	var err error
	l.query.Sort, err = query.ParseSort(l.class, known)
	return err
}

func setNumber(n *int, f engine.Field, given bool) error {
	v, err := wholeNumber(f)
	if err == nil && !given {
		*n = v
	}
	return err
}

func wholeNumber(f engine.Field) (int, error) {
	switch v := f.Value.(type) {
	case json.Number:
		return parseNumber(f.Name, []string{string(v)})
	case string:
		return parseNumber(f.Name, []string{v})
	}
	return parseNumber(f.Name, []string{kindOf(f.Value)})
}
