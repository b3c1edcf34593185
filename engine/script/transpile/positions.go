package transpile

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-sourcemap/sourcemap"
)

// Map is a source map. It translates positions in compiled text, which goja reports, to positions in the source file.
type Map struct{ *sourcemap.Consumer }

// Origin translates a position in compiled text that goja reports untranslated, such as that of a syntax error. ours
// is the file name that the map uses for code which is not in the source file, because the compiler or restsrv has
// added it. Origin returns 0, 0 for a position in such code.
func (m Map) Origin(ours string, line, column int) (int, int) {
	source, _, line, column, ok := m.Source(line, column)
	if !ok || source == ours {
		return 0, 0
	}
	return line, column
}

// rawMap holds the fields of a source map that this package uses.
type rawMap struct {
	Version  int      `json:"version"`
	Sources  []string `json:"sources"`
	Mappings string   `json:"mappings"`
}

// mapOf converts text, the source map that the compiler returns, to the map for Output.Text. Output.Text begins with
// the line in.Head, which the source map does not know. The compiler may also have added code at the beginning. In
// the result, that code belongs to the file in.Ours.
func mapOf(text []byte, in Input) (Map, error) {
	var m rawMap
	if err := json.Unmarshal(text, &m); err != nil {
		return Map{}, err
	}
	first := true
	lines := strings.Split(m.Mappings, ";")
	for i, line := range lines {
		if line != "" {
			lines[i], first = shiftColumns(line, first), false
		}
	}
	return newMap(in.Ours, in.File, ";"+strings.Join(lines, ";")+";AAAA")
}

// shiftColumns adds 1 to the columns of one line of mappings, because goja counts columns from 1 and source maps
// count from 0. first is true for the first line that has mappings. Its first mapping must also switch to the second
// source: mappings are relative to the previous one, and the mapping before it is firstOfOurs, which selects the
// first source.
func shiftColumns(line string, first bool) string {
	column, rest := cutVLQ(line)
	b := appendVLQ(nil, column+1)
	if first {
		var source, row, at int
		source, rest = cutVLQ(rest)
		row, rest = cutVLQ(rest)
		at, rest = cutVLQ(rest)
		b = appendVLQ(appendVLQ(appendVLQ(b, source+1), row), at)
	}
	return string(b) + rest
}

// FirstLine returns a map for a text in which the source file begins after head, on the same line. Only the first
// line needs mappings; on the other lines, positions are the same in both texts. Columns count bytes, as in goja.
func FirstLine(ours, file, head, text string) (Map, error) {
	line, _, _ := strings.Cut(text, "\n")
	b := make([]byte, 0, 5*len(line)+32)
	segment := func(skip, source, columns int) {
		b = appendVLQ(append(b, ','), skip)
		b = appendVLQ(appendVLQ(appendVLQ(b, source), 0), columns)
	}
	segment(len(head)+1, 1, 0)
	last := 0
	for i := 1; i < len(line); i++ {
		if line[i] == ' ' || inWord(line[i]) && inWord(line[i-1]) {
			continue // no token begins here
		}
		segment(i-last, 0, i-last)
		last = i
	}
	segment(1<<24, 0, 0) // goja uses a position as it is if the map does not contain it
	return newMap(ours, file, string(b))
}

func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// firstOfOurs is the mapping of column 1 to the first source (ours). goja would ignore a mapping of column 0 of the
// first line.
const firstOfOurs = "AAAC"

// newMap returns a map with two sources: ours and file. It puts firstOfOurs before mappings, so the first of the
// mappings must be relative to firstOfOurs.
func newMap(ours, file, mappings string) (Map, error) {
	text, err := json.Marshal(rawMap{Version: 3, Sources: []string{ours, sourceName(file)}, Mappings: firstOfOurs + mappings})
	if err != nil {
		return Map{}, err
	}
	c, err := sourcemap.Parse("", text)
	return Map{c}, err
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_./@+~,=-]+$`)

// oddName is the prefix of file names that goja would otherwise parse as URLs.
const oddName = "file:"

// sourceName returns the name of a file for use in a map. goja resolves it as a URL relative to the name of the file,
// so for a plain name the last element is enough.
func sourceName(file string) string {
	if plainName.MatchString(file) {
		return path.Base(file)
	}
	return oddName + file
}

// FileName returns the original name of a file for the name that goja reports. It undoes sourceName.
func FileName(name string) string { return strings.TrimPrefix(name, oddName) }

// Units converts a byte offset within a line to UTF-16 units, in which editors count columns.
func Units(line string, offset int) int {
	if offset > len(line) {
		return Units(line, len(line)) + offset - len(line)
	}
	units := 0
	for _, r := range line[:offset] {
		if units++; r > 0xFFFF {
			units++
		}
	}
	return units
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// appendVLQ appends a number in the variable-length format of source maps: five bits for each digit, the lowest bits
// first. The lowest bit of the number is set if the number is negative. The highest bit of a digit is set if more
// digits follow.
func appendVLQ(b []byte, n int) []byte {
	n <<= 1
	if n < 0 {
		n = -n | 1
	}
	for ; n >= 32; n >>= 5 {
		b = append(b, digits[n&31|32])
	}
	return append(b, digits[n])
}

// cutVLQ reads the number at the start of s and returns it with the rest of s.
func cutVLQ(s string) (n int, rest string) {
	for i, shift := 0, 0; i < len(s); i, shift = i+1, shift+5 {
		d := strings.IndexByte(digits, s[i])
		n |= d & 31 << shift
		if d < 32 {
			rest = s[i+1:]
			break
		}
	}
	if n&1 != 0 {
		return -(n >> 1), rest
	}
	return n >> 1, rest
}
