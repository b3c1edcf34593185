package formula

import (
	"strings"

	"restsrv/engine"
)

// parseText converts a formula in text form, such as next(ord) or concat($a, ' ', lower($b)), to decoded JSON. Words,
// 'texts' and "texts" are literals. In a text in quotes, a quote is written twice or after a backslash.
//
// Like IONDV, parseText skips surplus closing brackets, and text after the last bracket. For example, in add(sub($a,
// $b)), 1) the last bracket closes add, and the bracket directly before the comma is skipped. skipped lists the
// skipped texts.
func parseText(s string) (v any, skipped []string, err error) {
	if len(s) > maxSource {
		return nil, nil, invalid("a formula has at most %d bytes", maxSource)
	}
	var p textParser
	v, err = p.parseValue(s, 0)
	return v, p.skipped, err
}

type textParser struct{ skipped []string }

// addSkipped records text that is skipped.
func (p *textParser) addSkipped(text string) {
	if text = strings.TrimSpace(text); text != "" {
		p.skipped = append(p.skipped, text)
	}
}

// parseValue parses a call or a literal. The last bracket in source closes the call.
func (p *textParser) parseValue(source string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, invalid("a formula is nested at most %d levels deep", maxDepth)
	}
	source = strings.TrimSpace(source)
	if source != "" && (source[0] == '\'' || source[0] == '"') {
		return p.parseQuoted(source)
	}
	open := strings.IndexByte(source, '(')
	if open < 0 {
		word, more, _ := strings.Cut(source, ")")
		if strings.Contains(word, ",") {
			return nil, invalid("the formula goes on with %s where it should end", engine.Quote(word[strings.Index(word, ","):]))
		}
		if len(word) < len(source) {
			p.addSkipped(")" + more)
		}
		return literalWord(strings.TrimSpace(word)), nil
	}
	word, end := strings.TrimSpace(source[:open]), -1
	unclosed := scanBrackets(source, func(i int, c byte, _ int) bool {
		if c == ')' {
			end = i
		}
		return true
	})
	switch {
	case unclosed != "":
		return nil, invalid("the text %s has no closing quote", engine.Quote(unclosed))
	case end < open:
		return nil, invalid("the arguments of %s do not end: expected , or ), found %s", engine.Quote(word), engine.Quote(source[open+1:]))
	}
	p.addSkipped(source[end+1:])
	args := []any{}
	if rest := source[open+1 : end]; strings.TrimSpace(rest) != "" {
		for more := true; more; {
			var one string
			var err error
			if one, rest, more, err = p.cutArgument(word, rest); err != nil {
				return nil, err
			}
			v, err := p.parseValue(one, depth+1)
			if err != nil {
				return nil, err
			}
			args = append(args, v)
		}
	}
	return engine.Fields{{Name: word, Value: args}}, nil
}

// cutArgument splits the first argument off source, the remaining arguments of a function. more reports whether
// further arguments follow. If the argument is a call, text between its closing bracket and the next comma is skipped.
func (p *textParser) cutArgument(function, source string) (one, rest string, more bool, err error) {
	end, comma, unclosed := len(source), len(source), 0
	scanBrackets(source, func(i int, c byte, open int) bool {
		unclosed = open
		switch {
		case c == ')' && open < 0, c == ')' && open == 0:
			end = min(end, i+1+open)
			return false
		case c == ',' && open == 0:
			end, comma, more = min(end, i), i, true
			return false
		}
		return true
	})
	if unclosed > 0 {
		return "", "", false, invalid("the arguments of %s do not end: expected , or ), found %s", engine.Quote(function), engine.Quote(source))
	}
	if !more && end < len(source) {
		if i := strings.IndexByte(source[end:], ','); i >= 0 {
			comma, more = end+i, true
		}
	}
	p.addSkipped(source[end:comma])
	if more {
		rest = source[comma+1:]
	}
	return source[:end], rest, more, nil
}

// scanBrackets calls visit for each bracket and comma outside of quotes, until visit returns false. visit receives the
// index i of the character c, and open, the number of brackets that are open after the character. If a text in quotes
// has no closing quote, scanBrackets returns this text.
func scanBrackets(source string, visit func(i int, c byte, open int) bool) (unclosed string) {
	open, start := 0, true // start is true where an argument can begin; only there a quote begins a text
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '\'', '"':
			if start {
				_, n, ok := quotedText(source[i:])
				if !ok {
					return source[i:]
				}
				i += n - 1
			}
		case '(':
			open++
		case ')':
			open--
		}
		start = c == '(' || c == ','
		if (c == '(' || c == ')' || c == ',') && !visit(i, c, open) {
			return ""
		}
	}
	return ""
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

// parseQuoted parses a literal in quotes.
func (p *textParser) parseQuoted(source string) (any, error) {
	v, n, ok := quotedText(source)
	if !ok {
		return nil, invalid("the text %s has no closing quote", engine.Quote(source))
	}
	if rest := strings.TrimSpace(source[n:]); strings.Trim(rest, ") ") != "" {
		return nil, invalid("the formula goes on with %s where it should end", engine.Quote(rest))
	}
	p.addSkipped(source[n:])
	return quoted(v), nil
}

// quotedText parses the text in quotes at the beginning of source. n is its length in bytes, including the quotes.
func quotedText(source string) (v string, n int, ok bool) {
	quote := source[0]
	var b strings.Builder
	for i := 1; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source), c == quote && i+1 < len(source) && source[i+1] == quote:
			i++
			b.WriteByte(source[i])
		case c == quote:
			return b.String(), i + 1, true
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}
