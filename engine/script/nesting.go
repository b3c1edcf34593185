package script

import (
	"strings"

	"restsrv/engine/wire"
)

// maxBrackets bounds the nesting of source text: the compiler recurses, and a
// Go stack that overflows ends the process.
const maxBrackets = 5000

// tooDeep returns where unclosed brackets exceed maxBrackets, 0 when they
// never do. Brackets inside text and comments count too: it is an alarm, not a
// parser.
func tooDeep(text string) (line, column int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			if depth++; depth > maxBrackets {
				return wire.Position([]byte(text), i)
			}
		case ')', ']', '}':
			if depth > 0 {
				depth--
			}
		}
	}
	return 0, 0
}

// maxChain bounds how many operators follow each other without a bracket that
// closes, a comma or a semicolon between them: each may be one level more for a
// compiler that recurses.
const maxChain = 10_000

// maxMade bounds source text that is made at run time, in characters: the
// compiler cannot be interrupted.
const maxMade = 64 << 10

// maxSteep bounds those among them that take the compiler of TypeScript and ES
// modules a time which grows with the square of their number, or worse: =>, <
// and the dot.
const maxSteep = 500

// tooLong returns where a chain exceeds the limit, 0 when none does; steep is
// whether that of steep operators counts. It skips text,
// comments and most regular expressions; what it takes wrongly makes a chain
// longer, or ends it early.
func tooLong(text string, steep bool) (line, column int) {
	if len(text) <= maxSteep {
		return 0, 0
	}
	c := chain{text: text}
	for c.at < len(text) {
		if c.next(); c.length+c.outer > maxChain || steep && c.steep > maxSteep {
			return wire.Position([]byte(text), min(c.at, len(text)-1))
		}
	}
	return 0, 0
}

// chain is a walk over source text.
type chain struct {
	text string
	at   int
	level
	levels []level // around it
	outer  int     // their lengths
	ended  bool    // a statement may have ended with the last token
	word   bool    // it was a word
}

// level is the chain within one pair of brackets.
type level struct {
	length int
	angles int // < without > in it: commas between those end nothing
	steep  int // steep operators in it
}

// next takes one token.
func (c *chain) next() {
	b := c.text[c.at]
	c.at++
	switch {
	case b == '\n' && c.ended && c.at < len(c.text) && (wordByte(c.text[c.at]) || c.text[c.at] == ' ' || c.text[c.at] == '\t'):
		c.newStatement()
		return
	case b == ' ' || b == '\t' || b == '\r' || b == '\n':
		return
	case b == '"' || b == '\'' || b == '`':
		c.skipText(b)
		if b == '`' {
			c.length++ // a template may be a call
		}
		c.ended, c.word = true, false
		return
	case b == '/' && c.ahead('/'):
		c.skipTo("\n")
		c.at-- // the end of the line counts
		return
	case b == '/' && c.ahead('*'):
		c.skipTo("*/")
		return
	case b == '/' && !c.ended && c.skipPattern():
		c.ended, c.word = true, false
		return
	case wordByte(b):
		c.skipWord()
		return
	}
	c.operator(b)
	c.word = false
}

func (c *chain) operator(b byte) {
	c.ended = false
	switch b {
	case '(', '[', '{':
		c.length++
		c.levels = append(c.levels, c.level)
		c.outer += c.length
		c.level = level{}
	case ')', ']', '}':
		c.ended = true
		if last := len(c.levels) - 1; last >= 0 {
			c.level = c.levels[last]
			c.outer -= c.length
			c.levels = c.levels[:last]
		}
		if b == '}' && c.at < len(c.text) && wordByte(c.text[c.at]) {
			c.newStatement()
		}
	case ';':
		c.newStatement()
	case ',':
		c.length, c.steep = c.angles, c.angles
	case '<':
		c.length++
		c.angles++
		c.steep++
	case '>':
		c.length++
		if c.at > 1 && c.text[c.at-2] == '=' {
			c.steep++
		} else {
			c.angles = max(0, c.angles-1)
		}
	case '.':
		c.length++
		c.steep++
	default:
		c.length++
	}
}

func (c *chain) newStatement() { c.level, c.ended, c.word = level{}, false, false }

func (c *chain) ahead(b byte) bool { return c.at < len(c.text) && c.text[c.at] == b }

// skipText skips a text that quote began; one that does not end is left at the
// end of its line.
func (c *chain) skipText(quote byte) {
	start := c.at
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == '\\':
			c.at++
		case b == quote:
			c.at++
			return
		case b == '\n' && quote != '`':
			return
		}
	}
	c.at = start // it was no text
}

// skipPattern skips a regular expression; false when it does not end in its
// line.
func (c *chain) skipPattern() bool {
	inClass := false
	for i := c.at; i < len(c.text); i++ {
		switch c.text[i] {
		case '\\':
			i++
		case '[':
			inClass = true
		case ']':
			inClass = false
		case '\n':
			return false
		case '/':
			if !inClass {
				c.at = i + 1
				return true
			}
		}
	}
	return false
}

func (c *chain) skipTo(end string) {
	if n := strings.Index(c.text[c.at:], end); n >= 0 {
		c.at += n + len(end)
		return
	}
	c.at = len(c.text) + 1
}

// skipWord skips a name, a number or a keyword; one that follows another is an
// operator or the body of a statement.
func (c *chain) skipWord() {
	for c.at < len(c.text) && wordByte(c.text[c.at]) {
		c.at++
	}
	if c.word {
		c.length++
	}
	c.word, c.ended = true, true
}

func wordByte(b byte) bool {
	return b == '_' || b == '$' || b >= 0x80 || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
