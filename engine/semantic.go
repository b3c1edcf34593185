package engine

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// semantic is a compiled display string: pieces between "|", each a property
// (optionally cut: name[start,length]) or literal text.
type semantic []piece

type piece struct {
	property *Property // nil for literal text
	literal  string
	start    int // in UTF-16 units, as JavaScript counts
	length   int // -1 for all
}

// propertyPiece is what names a property: a path of at least two characters
// and an optional cut. Everything else is literal, untrimmed.
var propertyPiece = regexp.MustCompile(`^\s*([A-Za-z0-9_.]{2,})(?:\[(\d+)(?:,(\d+))?\])?\s*$`)

func compileSemantic(c *Class, source string) semantic {
	if source == "" {
		return nil
	}
	var s semantic
	for _, part := range strings.Split(source, "|") {
		m := propertyPiece.FindStringSubmatch(part)
		if m == nil || c.byName[m[1]] == nil {
			s = append(s, piece{literal: part})
			continue
		}
		p := piece{property: c.byName[m[1]], length: -1}
		p.start, _ = strconv.Atoi(m[2])
		if m[3] != "" {
			p.length, _ = strconv.Atoi(m[3])
		}
		s = append(s, p)
	}
	return s
}

func (s semantic) eval(it *Item) string {
	if len(s) == 1 && s[0].property != nil && s[0].length < 0 && s[0].start == 0 {
		return displayProperty(it, s[0].property) // the common case: no copy
	}
	var b strings.Builder
	for _, p := range s {
		if p.property == nil {
			b.WriteString(p.literal)
			continue
		}
		b.WriteString(p.cut(displayProperty(it, p.property)))
	}
	return b.String()
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

// displayProperty is a property as people read it: dates in the ancestor's
// default form, in UTC; false and null are empty.
func displayProperty(it *Item, p *Property) string {
	switch v := it.Values[p.Index].(type) {
	case string:
		if p.Type == Password {
			return ""
		}
		return v
	case bool:
		if !v {
			return ""
		}
		return "true"
	case Instant:
		if p.Size == 4 {
			return v.Time().Format("02.01.2006")
		}
		return displayTime(v)
	default:
		return ValueText(v)
	}
}

func displayTime(i Instant) string {
	t := i.Time()
	return t.Format("02.01.2006 ") + strconv.Itoa(t.Hour()) + t.Format(":04")
}
