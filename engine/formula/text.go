package formula

import (
	"strings"

	"restsrv/engine"
)

// parseText turns the text form, next(ord) or concat($a, ' ', lower($b)), into
// decoded JSON. Words are literals, as are 'texts' and "texts"; a quote is
// doubled or escaped by a backslash within them.
func parseText(s string) (any, error) {
	if len(s) > maxSource {
		return nil, invalid("a formula has at most %d bytes", maxSource)
	}
	p := textParser{rest: s}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.skip(); p.rest != "" {
		return nil, invalid("the formula goes on with %s where it should end", engine.Quote(p.rest))
	}
	return v, nil
}

type textParser struct{ rest string }

func (p *textParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// next reports whether the text goes on with c, and takes it.
func (p *textParser) next(c byte) bool {
	p.skip()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *textParser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, invalid("a formula is nested at most %d levels deep", maxDepth)
	}
	p.skip()
	if p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"') {
		return p.text()
	}
	end := strings.IndexAny(p.rest, "(),")
	if end < 0 {
		end = len(p.rest)
	}
	word := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	if !p.next('(') {
		return literalWord(word), nil
	}
	args := []any{}
	if p.next(')') {
		return engine.Fields{{Name: word, Value: args}}, nil
	}
	for {
		a, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		if p.next(')') {
			return engine.Fields{{Name: word, Value: args}}, nil
		}
		if !p.next(',') {
			return nil, invalid("the arguments of %s do not end: expected , or ), found %s", engine.Quote(word), engine.Quote(p.rest))
		}
	}
}

func literalWord(word string) any {
	switch word {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if strings.HasPrefix(word, "$") {
		return word
	}
	if n, ok := parseNumber(word); ok {
		return n
	}
	return quoted(word)
}

func (p *textParser) text() (any, error) {
	quote := p.rest[0]
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\\' && i+1 < len(p.rest), c == quote && i+1 < len(p.rest) && p.rest[i+1] == quote:
			i++
			b.WriteByte(p.rest[i])
		case c == quote:
			p.rest = p.rest[i+1:]
			return quoted(b.String()), nil
		default:
			b.WriteByte(c)
		}
	}
	return nil, invalid("the text %s has no closing quote", engine.Quote(p.rest))
}
