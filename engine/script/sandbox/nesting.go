package sandbox

import (
	"strings"

	"restsrv/engine/wire"
)

// MaxBrackets is the maximum nesting depth of brackets in source text. The parser and the compiler are recursive, and
// an overflow of the Go stack would end the process.
const MaxBrackets = 5000

// TooDeep returns the position in source text at which more than MaxBrackets brackets are open, or 0. It also counts
// brackets in strings and comments. That is acceptable, because real files stay far below the limit.
func TooDeep(text string) (line, column int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			if depth++; depth > MaxBrackets {
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

// MaxChain is the maximum length of a chain: operators without a closing bracket, a comma or a semicolon between
// them, as in a + b + c. A recursive compiler may need one level of recursion for each operator.
const MaxChain = 10_000

// maxMade is the maximum size of source text that is compiled at run time, in characters. It is low because the
// compiler cannot be interrupted.
const maxMade = 64 << 10

// MaxSteep is the maximum number of =>, < and dots in a chain. These are called steep: the time that the compiler for
// TypeScript and ES modules takes for a chain grows at least with the square of their number.
const MaxSteep = 500

// TooLong returns the position in source text at which a chain exceeds its limit, or 0. It checks MaxChain, and
// MaxSteep only if steep is true. It skips strings, comments and most regular expressions. It does not parse the
// text, so a misread token can make a chain look longer or shorter than it is.
func TooLong(text string, steep bool) (line, column int) {
	if len(text) <= MaxSteep {
		return 0, 0
	}
	c := chain{text: text}
	for c.at < len(text) {
		if c.nextToken(); c.length+c.outer > MaxChain || steep && c.steep > MaxSteep {
			return wire.Position([]byte(text), min(c.at, len(text)-1))
		}
	}
	return 0, 0
}

// chain scans source text and counts the operators of the current chain.
type chain struct {
	text string
	at   int
	level
	levels []level // the levels around the current one
	outer  int     // sum of the lengths of these levels
	ended  bool    // a statement may have ended with the last token
	word   bool    // the last token was a word
}

// level contains the counts within one pair of brackets. Brackets inside it have their own level.
type level struct {
	length int // number of operators in the chain so far
	angles int // number of < without a >; commas after such a < do not end the chain
	steep  int // number of steep operators
}

// nextToken scans one token.
func (c *chain) nextToken() {
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
			c.length++ // a template after a name is a call
		}
		c.ended, c.word = true, false
		return
	case b == '/' && c.nextIs('/'):
		c.skipTo("\n")
		c.at-- // do not skip the line break, which may end a statement
		return
	case b == '/' && c.nextIs('*'):
		c.skipTo("*/")
		return
	case b == '/' && !c.ended && c.skipPattern():
		c.ended, c.word = true, false
		return
	case wordByte(b):
		c.skipWord()
		return
	}
	c.scanOperator(b)
	c.word = false
}

func (c *chain) scanOperator(b byte) {
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

func (c *chain) nextIs(b byte) bool { return c.at < len(c.text) && c.text[c.at] == b }

// skipText skips a string literal after its opening quote. If the literal does
// not end, it skips to the end of the line.
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
	c.at = start // the line ends first: the quote did not start a string
}

// skipPattern skips a regular expression. It returns false if the line ends first: then the slash is a division.
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

// skipWord skips a name, a number or a keyword. Two words in a row count as an operator: one of them may be an
// operator such as in, or may begin a nested statement.
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
