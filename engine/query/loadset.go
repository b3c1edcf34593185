package query

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// Limits of a LoadSet. They are needed because each path costs a SQL statement.
const (
	maxLoads    = 250
	maxLoadPath = 16 // names in one path
)

// MaxLoadDepth is the maximum depth for LoadSet.Nested.
const MaxLoadDepth = 5

// LoadSet collects the references and collections to load with the items of a query. It is a tree of paths without
// duplicates.
type LoadSet struct {
	Roots []*engine.Load
	class *engine.Class
	count int
}

// NewLoadSet returns a set with the attributes that the class always loads.
func NewLoadSet(c *engine.Class) *LoadSet {
	l := &LoadSet{class: c}
	l.addAlways(c)
	for _, d := range c.Descendants {
		l.addAlways(d)
	}
	return l
}

func (l *LoadSet) addAlways(c *engine.Class) {
	for _, p := range c.Properties {
		if !p.Eager || !isLink(p) || c.Hides(p) {
			continue
		}
		known := slices.ContainsFunc(l.Roots, func(r *engine.Load) bool {
			return r.Property.Name == p.Name && r.Property.Definition == p.Definition
		})
		if !known {
			l.count++
			l.Roots = append(l.Roots, &engine.Load{Property: p, Shown: true})
		}
	}
}

// linkProperties returns the references and collections of a class and its descendants.
func linkProperties(c *engine.Class) (all []*engine.Property) {
	seen := map[string]bool{}
	for _, d := range engine.Family(c) {
		for _, p := range d.Properties {
			if key := p.Name + "\x00" + p.Definition; isLink(p) && !d.Hides(p) && !seen[key] {
				seen[key] = true
				all = append(all, p)
			}
		}
	}
	return all
}

func isLink(p *engine.Property) bool {
	return (p.Type == engine.Reference || p.Type == engine.Collection) && p.Target != nil
}

// propertiesNamed returns the properties with that name of a class and its descendants.
func propertiesNamed(c *engine.Class, name string) (all []*engine.Property) {
	seen := map[string]bool{}
	for _, d := range engine.Family(c) {
		if p := d.Property(name); p != nil && !seen[p.Definition] {
			seen[p.Definition] = true
			all = append(all, p)
		}
	}
	return all
}

// loadPath is a path through references and collections. Its last property may have any type.
type loadPath []*engine.Property

// continuePath appends an attribute to the path from, and returns the new paths. If from is empty, the attribute
// belongs to the class of the set. If descendants have different attributes with this name, there are several paths.
// If no class has such an attribute, the result is empty.
func (l *LoadSet) continuePath(from loadPath, name string) (all []loadPath) {
	c := l.class
	if len(from) > 0 {
		last := from[len(from)-1]
		if !isLink(last) {
			return nil
		}
		c = l.class.TargetOf(last)
	}
	for _, p := range propertiesNamed(c, name) {
		all = append(all, append(from[:len(from):len(from)], p))
	}
	return all
}

// Eager adds the paths of an _eager parameter, which consists of names separated by |. In owner|town, owner is an
// attribute of the class. town is an attribute of the class, or of the object to which owner leads; if it is an
// attribute of both, both paths are added. A name with dots, such as owner.town, is always a path from the class.
// source names the input in errors.
func (l *LoadSet) Eager(source, text string) error {
	var before []loadPath
	for _, name := range strings.Split(text, "|") {
		if name == "" {
			continue
		}
		var found []loadPath
		if strings.Contains(name, ".") {
			var err error
			if found, err = l.resolvePath(source, strings.Split(name, ".")); err != nil {
				return err
			}
		} else {
			found = l.continuePath(nil, name)
			for _, p := range before {
				found = append(found, l.continuePath(p, name)...)
			}
		}
		if len(found) == 0 {
			return l.unknownError(source, l.class, name)
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

// resolvePath returns the paths that the names describe. The first name is an attribute of the class.
func (l *LoadSet) resolvePath(source string, names []string) ([]loadPath, error) {
	paths := []loadPath{nil}
	for _, name := range names {
		var longer []loadPath
		for _, p := range paths {
			longer = append(longer, l.continuePath(p, name)...)
		}
		if len(longer) == 0 {
			c := l.class
			if last := paths[0]; len(last) > 0 {
				c = l.class.TargetOf(last[len(last)-1])
			}
			if c == nil {
				return nil, engine.Errorf(engine.Invalid, "path", "%s: nothing can be loaded below attribute %s", source, engine.Quote(paths[0][len(paths[0])-1].Name))
			}
			return nil, l.unknownError(source, c, name)
		}
		paths = longer
	}
	return paths, nil
}

func (l *LoadSet) unknownError(source string, c *engine.Class, name string) error {
	e := engine.Errorf(engine.Invalid, "unknown-attribute", "%s: class %s has no attribute %s", source, c.FullName, engine.Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// add adds a path to the tree. If its last property is neither a reference nor a collection, add leaves out this
// property.
func (l *LoadSet) add(source string, p loadPath) error {
	if len(p) > maxLoadPath {
		return engine.Errorf(engine.Invalid, "path", "%s: a path has at most %d names", source, maxLoadPath)
	}
	if !isLink(p[len(p)-1]) {
		p = p[:len(p)-1]
	}
	level := &l.Roots
	for _, property := range p {
		n := len(*level)
		var load *engine.Load
		*level, load = nextLoad(*level, property)
		if len(*level) > n {
			if l.count++; l.count > maxLoads {
				return engine.Errorf(engine.Invalid, "path", "%s: a request loads at most %d different paths", source, maxLoads)
			}
		}
		level = &load.Next
	}
	return nil
}

// nextLoad finds the load of property p in level, one level of the tree, or adds a new load. It returns the level and
// the load.
func nextLoad(level []*engine.Load, p *engine.Property) ([]*engine.Load, *engine.Load) {
	for _, l := range level {
		if l.Property.Name == p.Name && l.Property.Definition == p.Definition {
			return level, l
		}
	}
	l := &engine.Load{Property: p, Shown: true}
	return append(level, l), l
}

// Nested adds all references and collections up to the given depth.
func (l *LoadSet) Nested(depth int) error {
	return l.addNested(l.class, nil, depth)
}

func (l *LoadSet) addNested(c *engine.Class, from loadPath, depth int) error {
	if depth == 0 {
		return nil
	}
	for _, p := range linkProperties(c) {
		way := append(from[:len(from):len(from)], p)
		if err := l.add("nestingDepth", way); err != nil {
			return err
		}
		if err := l.addNested(c.TargetOf(p), way, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// Enrichment adds the paths in the parameter forceEnrichment. A path is an array of names, or a text as in _eager.
func (l *LoadSet) Enrichment(v any) error {
	const source = "forceEnrichment"
	wrong := engine.Errorf(engine.Invalid, "path", `%s takes an array of paths, such as [["town","region"],"author"]`, source)
	list, ok := v.([]any)
	if !ok {
		return wrong
	}
	for _, e := range list {
		switch e := e.(type) {
		case string:
			if err := l.Eager(source, e); err != nil {
				return err
			}
		case []any:
			names, err := loadNames(e, wrong)
			if err != nil {
				return err
			}
			paths, err := l.resolvePath(source, names)
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

func loadNames(list []any, wrong error) ([]string, error) {
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
