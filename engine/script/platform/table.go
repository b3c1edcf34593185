package platform

import (
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// maxTable is the maximum number of rows, and of columns, that console.table prints.
const maxTable = 100

// Table returns the text that console.table prints for data. It returns "" if data is not an object. If columns is an
// array, the table has only these columns.
func (p *Platform) Table(data, columns goja.Value) string {
	o, ok := data.(*goja.Object)
	if !ok {
		return ""
	}
	t := logTable{p: p, header: []string{"(index)"}, at: map[string]int{}}
	if list, ok := columns.(*goja.Object); ok && list.ClassName() == "Array" {
		for _, k := range list.Keys() {
			t.columnIndex(list.Get(k).String())
		}
		t.fixed = true
	}
	keys := o.Keys()
	for _, k := range keys[:min(len(keys), maxTable)] {
		t.addRow(k, o.Get(k))
	}
	return t.write()
}

type logTable struct {
	p      *Platform
	header []string
	at     map[string]int // index in header by name of the column
	fixed  bool           // do not add columns
	rows   [][]string
	values []string // by row: the text of the value if it is not an object, otherwise ""
	plain  bool     // a row is a value that is not an object, so the table has the column "Values"
}

// columnIndex returns the index of a column in t.header. It adds the column if it does not exist. It returns -1 if
// the table has too many columns or if its columns are fixed.
func (t *logTable) columnIndex(name string) int {
	i, ok := t.at[name]
	if !ok {
		if t.fixed || len(t.header) > maxTable {
			return -1
		}
		i = len(t.header)
		t.at[name] = i
		t.header = append(t.header, name)
	}
	return i
}

func (t *logTable) cellText(v goja.Value) string {
	return t.p.Inspect(v, InspectOptions{OneLine: true, Size: 1000})
}

func (t *logTable) addRow(name string, v goja.Value) {
	row, value := []string{name}, ""
	o, ok := v.(*goja.Object)
	if _, callable := goja.AssertFunction(v); !ok || callable {
		value, t.plain = t.cellText(v), true
	} else {
		for _, k := range o.Keys() {
			i := t.columnIndex(k)
			if i < 0 {
				continue
			}
			for len(row) <= i {
				row = append(row, "")
			}
			row[i] = t.cellText(o.Get(k))
		}
	}
	t.rows, t.values = append(t.rows, row), append(t.values, value)
}

func (t *logTable) write() string {
	header := t.header
	if t.plain {
		header = append(append([]string(nil), header...), "Values")
	}
	all := [][]string{header}
	for i, row := range t.rows {
		for len(row) < len(t.header) {
			row = append(row, "")
		}
		if t.plain {
			row = append(row, t.values[i])
		}
		all = append(all, row)
	}
	widths := make([]int, len(header))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+2)
		}
	}
	var b strings.Builder
	rule := func(left, middle, right string) {
		for i, w := range widths {
			if i == 0 {
				b.WriteString(left)
			} else {
				b.WriteString(middle)
			}
			b.WriteString(strings.Repeat("─", w))
		}
		b.WriteString(right)
	}
	rule("┌", "┬", "┐\n")
	for n, row := range all {
		for i, cell := range row {
			b.WriteString("│ " + cell + strings.Repeat(" ", widths[i]-1-utf8.RuneCountInString(cell)))
		}
		b.WriteString("│\n")
		if n == 0 {
			rule("├", "┼", "┤\n")
		}
	}
	rule("└", "┴", "┘")
	return b.String()
}
