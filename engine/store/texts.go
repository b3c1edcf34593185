package store

import (
	"strconv"
	"strings"
	"sync/atomic"

	"restsrv/engine"
)

// texts holds the constant SQL texts of a plan.
type texts struct {
	name     string  // unique name for cached bulk statements, even among classes of the same name
	foreign  bool    // table.foreign at the time when the texts were made
	selected *result // system columns and properties
	listed   *result // the same without the revision
	stamps   *result // only revision, creator and editor

	get, lock, list, count, insert, find string // lock is get in a transaction that changes the row
}

// sql returns the statements of the plan. They are built when they are first needed, which for most classes is late or
// never. They are built again if an upgrade finds rows of other classes in the table.
func (p *plan) sql() *texts {
	foreign := p.table.foreign.Load()
	st := p.made.Load()
	if st == nil || st.foreign != foreign {
		st = newTexts(p, *p.traits, foreign)
		p.made.Store(st)
	}
	return st
}

// textsMade counts the texts of all Stores of the process.
var textsMade atomic.Int64

func newTexts(p *plan, tr Traits, foreign bool) *texts {
	st := &texts{name: p.class.FullName + " " + strconv.FormatInt(textsMade.Add(1), 36), foreign: foreign}
	st.setResults(p, tr)
	from := " FROM " + p.table.quoted
	st.get = p.withKey(tr, "SELECT "+st.selected.list+from)
	st.lock = st.get + tr.Lock
	st.find = p.withKey(tr, "SELECT "+revColumn+from)
	b := newBuilder(tr)
	b.writePage(p, st.listed, &engine.Query{Class: p.class})
	st.list = b.text()
	b = newBuilder(tr)
	b.writeFind(p, "count(*)", &engine.Query{Class: p.class})
	st.count = b.text()
	st.insert = p.insertText(tr, 1, "")
	return st
}

// setResults sets the lists of columns that statements return.
func (st *texts) setResults(p *plan, tr Traits) {
	fields := []field{{revColumn, false}, {}, {creatorColumn, true}, {editorColumn, true}}
	st.stamps = newResult(tr, fields)
	fields[atVersion] = field{versionColumn, true}
	if p.shapes != nil {
		fields = append(fields, field{classColumn, true})
	}
	for _, col := range p.columns {
		fields = append(fields, field{col.quoted, col.typ.Textual()})
	}
	st.selected = newResult(tr, fields)
	fields[atRev].column = ""
	for i := range fields {
		if fields[i].column != "" { // other tables may have columns of the same name
			fields[i].column = p.table.quoted + "." + fields[i].column
		}
	}
	st.listed = newResult(tr, fields)
}

// withKey appends the condition that finds one item by its key.
func (p *plan) withKey(tr Traits, head string) string {
	b := newBuilder(tr)
	b.add(head)
	p.whereKey(b, []any{nil})
	return b.text()
}

// whereKey writes the condition that finds one item. The key is one value, as in engine.Class.KeyValues.
func (p *plan) whereKey(b *builder, key []any) {
	b.add(" WHERE ", p.table.id.quoted, " = ")
	b.bind(key[0])
	if condition := p.classCondition(); condition != "" {
		b.add(" AND ", condition)
	}
}

// classCondition returns the condition on the class of a row. It is "" if the table has only rows of classes of the
// plan.
func (p *plan) classCondition() string {
	if p.class.Ancestor != nil || p.table.foreign.Load() {
		return p.ofClasses
	}
	return ""
}

// ofClasses returns the condition that a row is of a class or one of its descendants.
func ofClasses(c *engine.Class) string {
	names := []string{quoteText(c.FullName)}
	for _, d := range c.Descendants {
		names = append(names, quoteText(d.FullName))
	}
	if len(names) == 1 {
		return classColumn + " = " + names[0]
	}
	return classColumn + " IN (" + strings.Join(names, ", ") + ")"
}
