package layout

import (
	"strconv"
	"strings"
	"sync/atomic"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// Texts holds the SQL texts of a plan that do not depend on the request.
type Texts struct {
	Name     string        // unique name for cached bulk statements, even among classes of the same name
	foreign  bool          // value of Table.Foreign when the texts were made
	Selected *sqldb.Result // system columns and properties
	Listed   *sqldb.Result // like Selected, but without the revision, and each column is preceded by the name of the table
	Stamps   *sqldb.Result // only revision, creator and editor

	Get, Lock, List, Count, Insert, Find string // Lock is like Get, for a transaction that will change the row; Find returns only the revision
}

// SQL returns the texts of the plan. They are built when they are first needed, because for most classes this is late
// or never. If an upgrade finds rows of other classes in the table, they are built again.
func (p *Plan) SQL() *Texts {
	foreign := p.Table.Foreign.Load()
	st := p.made.Load()
	if st == nil || st.foreign != foreign {
		st = newTexts(p, *p.traits, foreign)
		p.made.Store(st)
	}
	return st
}

// textsMade is the number of Texts that this process has made. It makes Texts.Name unique.
var textsMade atomic.Int64

func newTexts(p *Plan, tr sqldb.Traits, foreign bool) *Texts {
	st := &Texts{Name: p.Class.FullName + " " + strconv.FormatInt(textsMade.Add(1), 36), foreign: foreign}
	st.setResults(p, tr)
	from := " FROM " + p.Table.Quoted
	st.Get = p.withKey(tr, "SELECT "+st.Selected.List+from)
	st.Lock = st.Get + tr.Lock
	st.Find = p.withKey(tr, "SELECT "+RevColumn+from)
	where := ""
	if condition := p.ClassCondition(); condition != "" {
		where = " WHERE " + p.Table.Quoted + "." + condition
	}
	b := sqldb.NewBuilder(tr)
	b.Add("SELECT ", st.Listed.List, from, where, " ORDER BY ", p.Table.Quoted, ".", SeqColumn)
	b.AddPage(0, 0)
	st.List = b.Text()
	st.Count = "SELECT count(*)" + from + where
	st.Insert = p.InsertText(tr, 1, "")
	return st
}

// setResults sets the lists of columns that statements return.
func (st *Texts) setResults(p *Plan, tr sqldb.Traits) {
	fields := []sqldb.Field{{Column: RevColumn, Text: false}, {}, {Column: CreatorColumn, Text: true}, {Column: EditorColumn, Text: true}}
	st.Stamps = sqldb.NewResult(tr, fields)
	fields[atVersion] = sqldb.Field{Column: VersionColumn, Text: true}
	if p.Shapes != nil {
		fields = append(fields, sqldb.Field{Column: ClassColumn, Text: true})
	}
	for _, col := range p.columns {
		fields = append(fields, sqldb.Field{Column: col.Quoted, Text: col.Type.Textual()})
	}
	st.Selected = sqldb.NewResult(tr, fields)
	fields[AtRev].Column = ""
	for i := range fields {
		if fields[i].Column != "" { // the table is named, because other tables of a statement may have columns of the same name
			fields[i].Column = p.Table.Quoted + "." + fields[i].Column
		}
	}
	st.Listed = sqldb.NewResult(tr, fields)
}

// withKey returns a statement that begins with head and finds one item by its key.
func (p *Plan) withKey(tr sqldb.Traits, head string) string {
	b := sqldb.NewBuilder(tr)
	b.Add(head)
	p.WhereKey(b, []any{nil})
	return b.Text()
}

// WhereKey writes the condition that finds one item. The key is one value, as in engine.Class.KeyValues.
func (p *Plan) WhereKey(b *sqldb.Builder, key []any) {
	b.Add(" WHERE ", p.Table.ID.Quoted, " = ")
	b.Bind(key[0])
	if condition := p.ClassCondition(); condition != "" {
		b.Add(" AND ", condition)
	}
}

// ClassCondition returns the condition that a row belongs to the plan's class or a descendant. It is "" if all rows of
// the table do.
func (p *Plan) ClassCondition() string {
	if p.Class.Ancestor != nil || p.Table.Foreign.Load() {
		return p.ofClasses
	}
	return ""
}

// ofClasses returns the condition that a row belongs to class c or a descendant.
func ofClasses(c *engine.Class) string {
	names := []string{sqldb.QuoteText(c.FullName)}
	for _, d := range c.Descendants {
		names = append(names, sqldb.QuoteText(d.FullName))
	}
	if len(names) == 1 {
		return ClassColumn + " = " + names[0]
	}
	return ClassColumn + " IN (" + strings.Join(names, ", ") + ")"
}
