package engine

import (
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Semantic is a compiled display string: pieces separated by "|". Each piece is a
// path to a property (with an optional range: town.name[start,length]) or literal
// text.
type Semantic struct{ pieces []piece }

type piece struct {
	path    []*Property // references followed by a property; nil for literal text
	literal string
	start   int // in UTF-16 code units, as in JavaScript
	length  int // -1 for the rest
}

// propertyPiece matches a piece that may name a property: a path of at least two
// characters and an optional range. Other pieces are literal text and are not
// trimmed.
var propertyPiece = regexp.MustCompile(`^\s*([A-Za-z0-9_.]{2,})(?:\[(\d+)(?:,(\d+))?\])?\s*$`)

// CompileSemantic compiles a display string of items of c. It returns nil for "".
// A piece that does not name a property is literal text.
func CompileSemantic(c *Class, source string) *Semantic {
	if source == "" {
		return nil
	}
	s := &Semantic{}
	for _, part := range strings.Split(source, "|") {
		m := propertyPiece.FindStringSubmatch(part)
		var path []*Property
		if m != nil {
			path = c.Path(m[1])
		}
		if path == nil && m != nil && c.Nowhere(m[1]) {
			continue
		}
		if path == nil {
			s.pieces = append(s.pieces, piece{literal: part})
			continue
		}
		p := piece{path: path, length: -1}
		p.start, _ = strconv.Atoi(m[2])
		if m[3] != "" {
			p.length, _ = strconv.Atoi(m[3])
		}
		s.pieces = append(s.pieces, p)
	}
	return s
}

// Paths returns the paths of the pieces that are not literal text; s may be nil.
func (s *Semantic) Paths() iter.Seq[[]*Property] {
	return func(yield func([]*Property) bool) {
		if s == nil {
			return
		}
		for _, p := range s.pieces {
			if p.path != nil && !yield(p.path) {
				return
			}
		}
	}
}

// Path resolves a dotted path, in which all steps except the last are references.
// It returns nil if there is no such path.
func (c *Class) Path(dotted string) []*Property {
	var path []*Property
	for name := range strings.SplitSeq(dotted, ".") {
		if c == nil {
			return nil
		}
		p := c.Property(name)
		if p == nil {
			return nil
		}
		path = append(path, p)
		from := c
		if c = nil; p.Type == Reference {
			c = from.TargetOf(p)
		}
	}
	return path
}

// Nowhere reports whether a dotted path goes through a reference whose class does
// not exist. Such a path is null for every item.
func (c *Class) Nowhere(dotted string) bool {
	names := strings.Split(dotted, ".")
	for _, name := range names[:len(names)-1] {
		p := c.Property(name)
		if p == nil || p.Nowhere || p.Target == nil {
			return p != nil && p.Nowhere
		}
		c = c.TargetOf(p)
	}
	return false
}

// collectNeeds returns the list for Class.Needs. It follows only paths of c itself. A path can lead to items that
// have display strings, which need further items. Those are added when the items are loaded.
func collectNeeds(c *Class) []*Load {
	var all []*Load
	if c.semantic != nil {
		for _, p := range c.semantic.pieces {
			all = addPath(all, p.path)
		}
	}
	formulas := []Formula{c.Label}
	for _, p := range c.Properties {
		formulas = append(formulas, p.Formula)
		if p.Selection != nil {
			for _, row := range p.Selection.Rows {
				formulas = append(formulas, row.Condition)
			}
		}
	}
	for _, f := range formulas {
		if f == nil {
			continue
		}
		for _, path := range f.Needs() {
			all = addPath(all, path)
		}
	}
	return all
}

// addPath adds the references and collections of a path to loads.
func addPath(loads []*Load, path []*Property) []*Load {
	if len(path) == 0 || path[0].Target == nil {
		return loads
	}
	for _, l := range loads {
		if l.Property == path[0] {
			l.Next = addPath(l.Next, path[1:])
			return loads
		}
	}
	return append(loads, &Load{Property: path[0], Next: addPath(nil, path[1:])})
}

// maxDisplayDepth is the maximum depth of display strings that include each
// other.
const maxDisplayDepth = 8

func (s *Semantic) eval(it *Item, depth int) string {
	if s == nil {
		return ""
	}
	if len(s.pieces) == 1 && len(s.pieces[0].path) == 1 && s.pieces[0].length < 0 && s.pieces[0].start == 0 {
		return displayProperty(it, s.pieces[0].path[0], depth) // the common case, without a copy
	}
	var b strings.Builder
	for _, p := range s.pieces {
		if p.path == nil {
			b.WriteString(p.literal)
			continue
		}
		b.WriteString(p.cut(displayPath(it, p.path, depth)))
	}
	return b.String()
}

// displayPath returns the displayed value at the end of a path. It returns "" if
// a reference on the path is null, dangling or not loaded.
func displayPath(it *Item, path []*Property, depth int) string {
	for _, p := range path[:len(path)-1] {
		if p = it.Class.Property(p.Name); p == nil { // its index differs between relatives
			return ""
		}
		if it = it.Link(p).Item; it == nil {
			return ""
		}
	}
	last := path[len(path)-1]
	if p := it.Class.Property(last.Name); p != nil {
		return displayProperty(it, p, depth)
	}
	return ""
}

func (p piece) cut(s string) string {
	if p.start == 0 && p.length < 0 {
		return s
	}
	units := utf16.Encode([]rune(s))
	if p.start >= len(units) {
		return ""
	}
	units = units[p.start:]
	if p.length >= 0 && p.length < len(units) {
		units = units[:p.length]
	}
	return string(utf16.Decode(units))
}

// displayProperty returns the value of a property as people read it: the label from a
// selection list, the display strings of the targets of a reference or a collection,
// dates in IONDV's default form in UTC, and "" for false and null.
func displayProperty(it *Item, p *Property, depth int) string {
	switch {
	case p.Type == Password || it.Class.Hides(p):
		return ""
	case p.Type == Reference:
		if target := it.Link(p).Item; target != nil {
			return target.display(p.Display, depth+1)
		}
	case p.Type == Collection:
		return displayAll(it.Link(p).Items, p.Display, depth+1)
	case p.Selection != nil:
		return it.label(p)
	}
	switch v := it.Values[p.Index].(type) {
	case string:
		return v
	case bool:
		if !v {
			return ""
		}
		return "true"
	case Instant:
		return displayInstant(v, p.Size)
	case JSONText:
		return displayJSON(p, v)
	default:
		return ValueText(v)
	}
}

func displayAll(items []*Item, s *Semantic, depth int) string {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = it.display(s, depth)
	}
	return strings.Join(texts, ", ")
}

// displayJSON returns the names of files, periods as dates, and other JSON as it
// is.
func displayJSON(p *Property, v JSONText) string {
	var texts []string
	switch p.Type {
	case File, Image, FileList:
		for _, f := range FilesIn(v) {
			texts = append(texts, f.title())
		}
		return strings.Join(texts, ", ")
	case Period:
		list, _ := v.Decode().([]any)
		for _, e := range list {
			date, _ := CastInstant(e)
			if e == nil {
				texts = append(texts, "")
				continue
			}
			texts = append(texts, displayInstant(date, p.Size))
		}
		return strings.Join(texts, " - ")
	}
	if text, ok := v.Decode().(string); ok {
		return text
	}
	return string(v)
}

func displayInstant(i Instant, size int) string {
	if size == 4 {
		return i.Time().Format("02.01.2006")
	}
	return displayTime(i)
}

func displayTime(i Instant) string {
	t := i.Time()
	return t.Format("02.01.2006 ") + strconv.Itoa(t.Hour()) + t.Format(":04")
}
