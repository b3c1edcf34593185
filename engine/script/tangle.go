package script

import "restsrv/engine/wire"

const (
	// maxMade bounds source text that is made at run time: the compiler cannot
	// be interrupted.
	maxMade = 64 << 10
	// maxTerms bounds one expression or unbraced statement: the compiler
	// recurses over operators, too, and takes ever longer for each.
	maxTerms = 20_000
)

// tooTangled returns where an expression has more than maxTerms names and
// operators, 0 when none has. It is an alarm, not a parser: what it takes for
// a text or a comment may be none, at most to the end of the line.
func tooTangled(text string) (line, column int) {
	parts := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ';' || c == ',' || c == '{' || c == '}':
			parts = 0
			continue
		case c <= ' ':
			continue
		case c == '\'' || c == '"':
			i = skipQuoted(text, i)
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
			continue
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			for i += 2; i < len(text) && (text[i] != '/' || text[i-1] != '*'); i++ {
			}
			continue
		case wordByte(c):
			for i+1 < len(text) && wordByte(text[i+1]) {
				i++
			}
		}
		if parts++; parts > maxTerms {
			return wire.Position([]byte(text), min(i, len(text)-1))
		}
	}
	return 0, 0
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// skipQuoted returns where a quoted text ends, or its line.
func skipQuoted(text string, at int) int {
	quote := text[at]
	for at++; at < len(text); at++ {
		switch text[at] {
		case quote, '\n':
			return at
		case '\\':
			at++
		}
	}
	return at
}
