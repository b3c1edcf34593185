package transpile

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-sourcemap/sourcemap"
)

// Map tells where in a file something is that the engine finds in the text that
// it was given.
type Map struct{ *sourcemap.Consumer }

// Origin is for positions that the engine does not map itself. It is 0, 0 for
// what is not in the file.
func (m Map) Origin(ours string, line, column int) (int, int) {
	source, _, line, column, ok := m.Source(line, column)
	if !ok || source == ours {
		return 0, 0
	}
	return line, column
}

// rawMap is a source map as far as it is used.
type rawMap struct {
	Version  int      `json:"version"`
	Sources  []string `json:"sources"`
	Mappings string   `json:"mappings"`
}

// mapOf makes the map of Output.Text, which has one line more than what the
// compiler made. What the compiler added of its own stands before the first
// position that it maps, and is told to be in in.Ours.
func mapOf(text []byte, in Input) (Map, error) {
	var m rawMap
	if err := json.Unmarshal(text, &m); err != nil {
		return Map{}, err
	}
	first := true
	lines := strings.Split(m.Mappings, ";")
	for i, line := range lines {
		if line != "" {
			lines[i], first = shifted(line, first), false
		}
	}
	return consumer(in.Ours, in.File, ";"+strings.Join(lines, ";")+";AAAA")
}

// shifted has the columns of a line begin with 1, as the engine expects, where
// maps begin with 0. The columns of the source follow from firstOfOurs, and so
// does which source it is: the second.
func shifted(line string, first bool) string {
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

// FirstLine maps the first line of a text that follows head there, and leaves
// the lines after it alone. Columns count bytes, as those of the engine do.
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
			continue // nothing begins here
		}
		segment(i-last, 0, i-last)
		last = i
	}
	segment(1<<24, 0, 0) // what is not found is taken for unmapped
	return consumer(ours, file, string(b))
}

func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// firstOfOurs is column 1 of the source 0; column 0 of its first line would be
// taken for no position at all.
const firstOfOurs = "AAAC"

// consumer makes a map whose first position is in the source ours, column 1:
// the columns of mappings follow from that.
func consumer(ours, file, mappings string) (Map, error) {
	text, err := json.Marshal(rawMap{Version: 3, Sources: []string{ours, sourceName(file)}, Mappings: firstOfOurs + mappings})
	if err != nil {
		return Map{}, err
	}
	c, err := sourcemap.Parse("", text)
	return Map{c}, err
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_./@+~,=-]+$`)

// oddName stands before names that the engine would take apart as addresses.
const oddName = "file:"

// sourceName is the name of a file in a map: the engine takes it for an address
// relative to the name that the file itself has.
func sourceName(file string) string {
	if plainName.MatchString(file) {
		return path.Base(file)
	}
	return oddName + file
}

// FileName is the name of a file as it was given, when the engine tells it as
// maps have it.
func FileName(name string) string { return strings.TrimPrefix(name, oddName) }

// Units converts an offset in bytes within a line into UTF-16 units, which is
// how editors count columns.
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

// appendVLQ appends a number in the form that maps have: five bits a digit, the
// lowest first; the lowest bit of all is the sign, the highest of a digit says
// that more follow.
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

// cutVLQ reads the number that s begins with.
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
