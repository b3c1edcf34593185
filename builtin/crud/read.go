package crud

import (
	"context"
	"hash/crc32"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/service"
)

// fetch answers GET /:class/:id.
func (s *crud) fetch(ctx context.Context, r *service.Request) (*service.Response, error) {
	c, err := s.pathClass(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	shape, unknown, err := readShape(c, r)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 && r.Handling(s.handling) == engine.Strict {
		return nil, engine.Errorf(engine.Invalid, "query", "unknown parameter %s: one object is read with _eager and _fields at most", engine.Quote(unknown[0]))
	}
	it, err := s.data.Get(ctx, c, r.Param("id"), shape.load...)
	if err != nil {
		return nil, err
	}
	room := room{memory: r.Answer, most: engine.SmallBytes}
	body, err := room.appendItem(make([]byte, 0, 512), it, shape.fields)
	for err == errNoRoom {
		if err = room.waitForMemory(0); err == nil {
			body, err = room.appendItem(make([]byte, 0, 512), it, shape.fields)
		}
	}
	if err != nil {
		return nil, err
	}
	resp := bodyResponse(it, shape, body)
	if !shape.isPlain() {
		resp.ETag = "" // the body depends on more than the item: use a weak ETag of the body
	}
	s.warnIgnored(r, resp, "unknown parameter ignored", unknown)
	return resp, nil
}

// shape defines which parts of an item an answer contains, as _eager and _fields request them.
type shape struct {
	load   []*engine.Load
	fields *engine.Projection
}

// isPlain reports whether the request has neither _eager nor _fields.
func (s shape) isPlain() bool { return len(s.load) == 0 && s.fields == nil }

// readShape reads the parameters _eager and _fields. unknown contains the other parameters.
func readShape(c *engine.Class, r *service.Request) (s shape, unknown []string, err error) {
	q, err := r.Query()
	if err != nil {
		return s, nil, err
	}
	loads := query.NewLoadSet(c)
	for _, name := range sortedNames(q) {
		switch name {
		case "_eager", "_eager[]":
			for _, v := range q[name] {
				if err := loads.Eager("_eager", v); err != nil {
					return s, nil, err
				}
			}
		case "_fields":
			if s.fields, err = fieldList(c, q[name]); err != nil {
				return s, nil, err
			}
		default:
			unknown = append(unknown, name)
		}
	}
	s.load = loads.Roots
	return s, unknown, nil
}

// itemResponse returns the response with one item. Its ETag contains the revision of the item, for
// If-Match. If the body depends on other data too, the ETag also contains a checksum of the body.
func itemResponse(it *engine.Item, s shape) *service.Response {
	return bodyResponse(it, s, it.AppendFields(make([]byte, 0, 512), s.fields))
}

func bodyResponse(it *engine.Item, s shape, body []byte) *service.Response {
	resp := service.JSON(body)
	resp.ETag = it.ETag()
	if !s.isPlain() || isComputed(it.Class.Base()) {
		resp.ETag = strings.TrimSuffix(resp.ETag, `"`) + "-" + strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 36) + `"`
	}
	return resp
}

// isComputed reports whether the JSON of an item also depends on other items or on the time.
func isComputed(c *engine.Class) bool {
	if len(c.Needs()) > 0 || c.Label != nil {
		return true
	}
	for _, p := range c.Properties {
		if p.Formula != nil { // even a cached value may be computed again for the account
			return true
		}
	}
	return false
}

// list answers GET /:class. It ignores the body.
func (s *crud) list(ctx context.Context, r *service.Request) (*service.Response, error) {
	c, err := s.pathClass(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	l, err := s.readListing(c, r)
	if err != nil {
		return nil, err
	}
	return s.answerList(ctx, r, l)
}

// answerList reads the page that a listing describes, and returns the response.
func (s *crud) answerList(ctx context.Context, r *service.Request, l *listing) (*service.Response, error) {
	if err := s.finishListing(l, r.Handling(s.handling)); err != nil {
		return nil, err
	}
	room, place := room{memory: r.Answer, most: engine.SmallBytes}, s.sizes.placeOf(l)
	first, err := s.sizes.beginList(ctx, place, l.query.Count, &room)
	if err != nil {
		return nil, err
	}
	defer first.Release()
	buffer := s.buffers.Get().(*[]byte)
	b := append((*buffer)[:0], '[')
	done := func() {
		if cap(b) <= maxBuffer {
			*buffer = b
			s.buffers.Put(buffer)
		}
	}
	page, total := *l.query, int64(0)
	if page.Count > 0 {
		page.Count++ // one more item shows whether there is a next page
	}
	if l.total {
		page.Total = &total
	}
	found := 0
	var end pageEnd
	visit := func(it *engine.Item) (err error) {
		found++
		end.notePosition(it, found, l.query)
		if found > l.query.Count {
			return nil
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b, err = room.appendItem(b, it, l.fields)
		return err
	}
	err = s.data.List(ctx, &page, visit)
	for err == errNoRoom {
		// Read the list again when enough memory is free. No database connection is held while
		// waiting.
		learnLength(place, len(b), found, l.query.Count)
		first.Release()
		b = nil
		if err = room.waitForMemory(estimateLength(place, l.query.Count)); err == nil {
			b, found, end = append(b, '['), 0, pageEnd{}
			err = s.data.List(ctx, &page, visit)
		}
	}
	b = append(b, ']')
	if err != nil {
		done()
		return nil, err
	}
	learnLength(place, len(b), min(found, l.query.Count), min(found, l.query.Count))
	resp := service.JSON(b)
	resp.Done = done
	if found > l.query.Count && l.query.Count > 0 {
		resp.SetHeader("Link", "<"+s.nextPage(r, l, &end)+`>; rel="next"`)
	}
	if l.total {
		resp.SetHeader("X-Total-Count", strconv.FormatInt(total, 10))
	}
	s.warnIgnored(r, resp, "unknown parameter ignored", l.unknown.parameters)
	s.warnIgnored(r, resp, "unknown attribute matches nothing", l.unknown.attributes)
	s.warnIgnored(r, resp, "unknown attribute sorts nothing", l.unknown.terms)
	return resp, nil
}

// pageEnd holds the positions at the end of a page, from which the cursor of the next page is made.
type pageEnd struct {
	last []engine.Position // positions of the last items of the page
	next *engine.Position  // position of the item after the page
}

// notePosition records the position of an item if it is near the end of the page. number is the
// number of the item in the list, counted from 1.
func (e *pageEnd) notePosition(it *engine.Item, number int, q *engine.Query) {
	switch first := q.Count - query.CursorItems; {
	case it.Position == nil || number <= first || len(q.Sort) == 0 && number != q.Count:
	case number > q.Count:
		at := it.Position.Clone()
		e.next = &at
	default:
		if e.last == nil {
			e.last = make([]engine.Position, 0, min(q.Count, query.CursorItems))
		}
		e.last = append(e.last, it.Position.Clone())
	}
}

// tooLong returns the error for an answer that is longer than engine.MaxAnswer.
func tooLong() error {
	return engine.Errorf(engine.Invalid, "answer", "the answer would be longer than %d MiB: ask for fewer objects (_count), attributes (_fields) or paths (_eager)", engine.MaxAnswer>>20)
}

// nextPage returns the URL of the next page, relative to the server. It is the URL of the request
// with another start: after the last object of this page, or at an offset.
func (s *crud) nextPage(r *service.Request, l *listing, end *pageEnd) string {
	next := maps.Clone(l.given)
	if next == nil {
		next = url.Values{}
	}
	if l.keyset && len(end.last) > 0 {
		delete(next, "_offset")
		next.Set("_after", s.cursors.Encode(l.query, end.last, end.next))
	} else {
		next.Set("_offset", strconv.Itoa(l.query.Offset+l.query.Count))
	}
	return "/rest/" + url.PathEscape(r.Service) + r.Path + "?" + next.Encode()
}
