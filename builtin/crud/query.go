package crud

import (
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// listing is a parsed request for a list of objects.
type listing struct {
	class   *engine.Class
	query   *engine.Query
	loads   *query.LoadSet
	filters []*engine.Filter
	fields  *engine.Projection // attributes in the answer; nil for all
	total   bool               // the answer contains the number of matching objects
	keyset  bool               // pages start after an object (_after) instead of at an offset
	after   string             // cursor of that object; "" for the first page
	given   url.Values         // parameters of the URL; for a search they take precedence over the body
	unknown unknownNames
}

// unknownNames are the unknown names in a request. terms are the unknown attributes in its sort
// order.
type unknownNames struct{ parameters, attributes, terms []string }

// parameterNames lists the parameters for error messages.
const parameterNames = "_offset, _count, _after, _sort, _fields, _filter, _search, _total, _eager"

// readListing reads the parameters of a list from the URL.
func (s *crud) readListing(c *engine.Class, r *service.Request) (*listing, error) {
	l := &listing{class: c, query: &engine.Query{Class: c, Count: defaultCount}, loads: query.NewLoadSet(c)}
	var err error
	if l.given, err = r.Query(); err != nil {
		return nil, err
	}
	for _, name := range sortedNames(l.given) {
		if err := s.readParameter(l, name, l.given[name]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// readParameter reads one parameter and its values.
func (s *crud) readParameter(l *listing, name string, values []string) (err error) {
	switch name {
	case "_eager", "_eager[]":
		for _, v := range values {
			if err := l.loads.Eager("_eager", v); err != nil {
				return err
			}
		}
		return nil
	case "_filter":
		for _, v := range values {
			if err := l.filterText(v); err != nil {
				return err
			}
		}
		return nil
	case "_fields":
		l.fields, err = fieldList(l.class, values)
		return err
	case "_sort", "_after", "_search", "_total", "_offset", "_count":
	default:
		return l.addAttribute(name, values)
	}
	if len(values) != 1 && name != "_offset" && name != "_count" {
		return engine.Errorf(engine.Invalid, "query", "%s is given once, found %d", name, len(values))
	}
	switch name {
	case "_sort":
		l.query.Sort, err = sortList(l.class, values[0])
	case "_after":
		l.keyset, l.after = true, values[0]
	case "_search":
		l.query.Search = values[0]
	case "_total":
		l.total, err = parseFlag(name, values[0])
	case "_offset":
		l.query.Offset, err = parseNumber(name, values)
	case "_count":
		if l.query.Count, err = parseNumber(name, values); err == nil {
			err = s.checkCount(name, l.query.Count)
		}
	}
	return err
}

func (s *crud) checkCount(name string, n int) error {
	if n > s.maxCount {
		return engine.Errorf(engine.Invalid, "count", "%s is at most %d, found %d", name, s.maxCount, n)
	}
	return nil
}

// filterText adds the filter in the text of _filter, which is JSON.
func (l *listing) filterText(text string) error {
	v, err := wire.Decode([]byte(text))
	if err != nil {
		return engine.Errorf(engine.Invalid, "filter", "_filter: %s", err.Error())
	}
	return l.addFilter(v)
}

func (l *listing) addFilter(v any) error {
	f, err := query.ParseFilter(l.class, v, time.Now())
	if err != nil {
		return err
	}
	l.filters = append(l.filters, f)
	return nil
}

// addAttribute adds a condition for a parameter that is named after an attribute or a path, such as
// status=open. It matches the objects in which this attribute is equal to one of the values. If the
// class does not have the attribute, no object matches.
func (l *listing) addAttribute(name string, values []string) error {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	p := l.class.Property(name)
	var f *engine.Filter
	var err error
	switch {
	case p != nil && len(values) == 1:
		f, err = query.Equal(p, values[0])
	case p != nil:
		f, err = query.AnyOf(p, list)
	case strings.HasPrefix(name, "_"):
		l.unknown.parameters = append(l.unknown.parameters, name)
		return nil
	case strings.Contains(name, "."):
		f, err = query.ParseFilter(l.class, engine.Fields{{Name: name, Value: engine.Fields{{Name: "$in", Value: list}}}}, time.Now())
		if e, ok := err.(*engine.Error); !ok || e.Reason != "unknown-attribute" {
			break
		}
		fallthrough
	default:
		l.unknown.attributes = append(l.unknown.attributes, name)
		f, err = engine.Never(), nil
	}
	l.filters = append(l.filters, f)
	return err
}

// finishListing sets the filter, the loads and the start of the query, when all parameters are
// read. In strict handling it returns an error if the request contains unknown names.
func (s *crud) finishListing(l *listing, h engine.Handling) error {
	if h == engine.Strict {
		if err := refuseUnknown(l.class, l.unknown); err != nil {
			return err
		}
	}
	l.query.Filter = engine.And(l.filters...)
	l.query.Load = l.loads.Roots
	if !l.keyset {
		return nil
	}
	if l.query.Offset != 0 {
		return engine.Errorf(engine.Invalid, "cursor", "_after and _offset are two ways to page: give one of them")
	}
	if s.cursors == nil {
		return engine.Errorf(engine.Invalid, "cursor", "this service pages with _offset only")
	}
	l.query.WantPosition = true
	if l.after == "" {
		return nil
	}
	var err error
	l.query.After, err = s.cursors.Decode(l.query, l.after)
	return err
}

func refuseUnknown(c *engine.Class, unknown unknownNames) error {
	if len(unknown.parameters) > 0 {
		return engine.Errorf(engine.Invalid, "query", "unknown parameter %s: known are %s and the attributes of %s", engine.Quote(unknown.parameters[0]), parameterNames, c.FullName)
	}
	if names := append(unknown.attributes, unknown.terms...); len(names) > 0 {
		return unknownAttribute(c, "", names[0])
	}
	return nil
}

func unknownAttribute(c *engine.Class, source, name string) error {
	e := engine.Errorf(engine.Invalid, "unknown-attribute", "%sclass %s has no attribute %s", source, c.FullName, engine.Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// sortList parses _sort, such as -due,name.
func sortList(c *engine.Class, text string) ([]engine.Sort, error) {
	var order engine.Fields
	for _, name := range strings.Split(text, ",") {
		direction := any(int64(1))
		if rest, ok := strings.CutPrefix(name, "-"); ok {
			name, direction = rest, int64(-1)
		}
		if name == "" {
			return nil, engine.Errorf(engine.Invalid, "sort", "_sort takes attributes separated by commas, - for descending, such as -due,name; found %s", engine.Quote(text))
		}
		order = append(order, engine.Field{Name: name, Value: direction})
	}
	return query.ParseSort(c, order)
}

// fieldList parses _fields, the names of the attributes in the answer.
func fieldList(c *engine.Class, values []string) (*engine.Projection, error) {
	var names []string
	for _, v := range values {
		for _, name := range strings.Split(v, ",") {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return engine.NewProjection(c, names)
}

func parseFlag(name, value string) (bool, error) {
	switch value {
	case "1", "true":
		return true, nil
	case "0", "false", "":
		return false, nil
	}
	return false, engine.Errorf(engine.Invalid, "query", "%s takes 1 or 0, found %s", name, engine.Quote(value))
}

func parseNumber(name string, values []string) (int, error) {
	if len(values) == 1 && values[0] != "" && strings.Trim(values[0], "0123456789") == "" {
		if n, err := strconv.Atoi(values[0]); err == nil {
			return n, nil
		}
	}
	return 0, engine.Errorf(engine.Invalid, "count", "%s takes one whole number, 0 or more, found %s", name, engine.Quote(strings.Join(values, ", ")))
}

// sortedNames returns the names of the parameters in a fixed order, so that answers and errors do
// not vary.
func sortedNames(q url.Values) []string {
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
