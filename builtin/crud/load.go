package crud

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// Limits of what one request may have loaded: each path costs a statement.
const (
	maxPaths   = 250
	maxPath    = 16 // names in one path
	maxNesting = 5
)

// loads collects what to load with each item: a tree of paths without
// doubles.
type loads struct {
	class *engine.Class
	roots []*engine.Load
	count int
}

// newLoads begins with the attributes that the class always loads.
func newLoads(c *engine.Class) *loads {
	l := &loads{class: c}
	l.always(c)
	for _, d := range c.Descendants {
		l.always(d)
	}
	return l
}

func (l *loads) always(c *engine.Class) {
	for _, p := range c.Properties {
		if !p.Eager || !leads(p) {
			continue
		}
		known := slices.ContainsFunc(l.roots, func(r *engine.Load) bool {
			return r.Property.Name == p.Name && r.Property.Definition == p.Definition
		})
		if !known {
			l.count++
			l.roots = append(l.roots, &engine.Load{Property: p, Shown: true})
		}
	}
}

// points are the references and collections of a class and of its descendants.
func points(c *engine.Class) (all []*engine.Property) {
	seen := map[string]bool{}
	for _, d := range family(c) {
		for _, p := range d.Properties {
			if key := p.Name + "\x00" + p.Definition; leads(p) && !seen[key] {
				seen[key] = true
				all = append(all, p)
			}
		}
	}
	return all
}

func family(c *engine.Class) []*engine.Class {
	return append([]*engine.Class{c}, c.Descendants...)
}

func leads(p *engine.Property) bool {
	return (p.Type == engine.Reference || p.Type == engine.Collection) && p.Target != nil
}

// named are the properties of that name of a class and of its descendants.
func named(c *engine.Class, name string) (all []*engine.Property) {
	seen := map[string]bool{}
	for _, d := range family(c) {
		if p := d.Property(name); p != nil && !seen[p.Definition] {
			seen[p.Definition] = true
			all = append(all, p)
		}
	}
	return all
}

// path is a way through references and collections; the last property may be
// any other.
type path []*engine.Property

// follow are the ways that continue one of the paths, or begin at the class,
// with the name.
func (l *loads) follow(from path, name string) (all []path) {
	c := l.class
	if len(from) > 0 {
		last := from[len(from)-1]
		if !leads(last) {
			return nil
		}
		c = last.Target
	}
	for _, p := range named(c, name) {
		all = append(all, append(from[:len(from):len(from)], p))
	}
	return all
}

// eager adds the paths of an _eager parameter (decisions.md section 2): names
// separated by |, each of which is an attribute of the class, or continues the
// path before it, or both. a.b is always a path.
func (l *loads) eager(source, text string) error {
	var before []path
	for _, name := range strings.Split(text, "|") {
		if name == "" {
			continue
		}
		var found []path
		if strings.Contains(name, ".") {
			var err error
			if found, err = l.resolve(source, strings.Split(name, ".")); err != nil {
				return err
			}
		} else {
			found = l.follow(nil, name)
			for _, p := range before {
				found = append(found, l.follow(p, name)...)
			}
		}
		if len(found) == 0 {
			return l.unknown(source, l.class, name)
		}
		for _, p := range found {
			if err := l.add(source, p); err != nil {
				return err
			}
		}
		before = found
	}
	return nil
}

// resolve finds the ways that the names describe from the class on.
func (l *loads) resolve(source string, names []string) ([]path, error) {
	paths := []path{nil}
	for _, name := range names {
		var longer []path
		for _, p := range paths {
			longer = append(longer, l.follow(p, name)...)
		}
		if len(longer) == 0 {
			c := l.class
			if last := paths[0]; len(last) > 0 {
				c = last[len(last)-1].Target
			}
			if c == nil {
				return nil, engine.Errorf(engine.Invalid, "path", "%s: nothing can be loaded below attribute %s", source, engine.Quote(paths[0][len(paths[0])-1].Name))
			}
			return nil, l.unknown(source, c, name)
		}
		paths = longer
	}
	return paths, nil
}

func (l *loads) unknown(source string, c *engine.Class, name string) error {
	e := engine.Errorf(engine.Invalid, "unknown-attribute", "%s: class %s has no attribute %s", source, c.FullName, engine.Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// add puts a path into the tree; what loads nothing is left out.
func (l *loads) add(source string, p path) error {
	if len(p) > maxPath {
		return engine.Errorf(engine.Invalid, "path", "%s: a path has at most %d names", source, maxPath)
	}
	if !leads(p[len(p)-1]) {
		p = p[:len(p)-1]
	}
	level := &l.roots
	for _, property := range p {
		n := len(*level)
		var load *engine.Load
		*level, load = next(*level, property)
		if len(*level) > n {
			if l.count++; l.count > maxPaths {
				return engine.Errorf(engine.Invalid, "path", "%s: a request loads at most %d different paths", source, maxPaths)
			}
		}
		level = &load.Next
	}
	return nil
}

// next finds the load of a property among others, or adds it.
func next(level []*engine.Load, p *engine.Property) ([]*engine.Load, *engine.Load) {
	for _, l := range level {
		if l.Property.Name == p.Name && l.Property.Definition == p.Definition {
			return level, l
		}
	}
	l := &engine.Load{Property: p, Shown: true}
	return append(level, l), l
}

// nested adds all references and collections, so many levels deep.
func (l *loads) nested(depth int) error {
	return l.nest(l.class, nil, depth)
}

func (l *loads) nest(c *engine.Class, from path, depth int) error {
	if depth == 0 {
		return nil
	}
	for _, p := range points(c) {
		way := append(from[:len(from):len(from)], p)
		if err := l.add("nestingDepth", way); err != nil {
			return err
		}
		if err := l.nest(p.Target, way, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// enrichment adds what forceEnrichment lists: paths as arrays of names, or as
// text as in _eager.
func (l *loads) enrichment(v any) error {
	const source = "forceEnrichment"
	wrong := engine.Errorf(engine.Invalid, "path", `%s takes an array of paths, such as [["town","region"],"author"]`, source)
	list, ok := v.([]any)
	if !ok {
		return wrong
	}
	for _, e := range list {
		switch e := e.(type) {
		case string:
			if err := l.eager(source, e); err != nil {
				return err
			}
		case []any:
			names, err := texts(e, wrong)
			if err != nil {
				return err
			}
			paths, err := l.resolve(source, names)
			if err != nil {
				return err
			}
			for _, p := range paths {
				if err := l.add(source, p); err != nil {
					return err
				}
			}
		default:
			return wrong
		}
	}
	return nil
}

func texts(list []any, wrong error) ([]string, error) {
	names := make([]string, len(list))
	for i, v := range list {
		name, ok := v.(string)
		if !ok || name == "" {
			return nil, wrong
		}
		names[i] = name
	}
	if len(names) == 0 {
		return nil, wrong
	}
	return names, nil
}
