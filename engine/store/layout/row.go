package layout

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// RowColumns returns the list of columns that InsertText sets, in the same order.
func (p *Plan) RowColumns() string {
	names := []string{ClassColumn, VersionColumn, RevColumn, CreatorColumn}
	for _, property := range p.Stored {
		names = append(names, p.Table.Column(property).Quoted)
	}
	if p.Table.HasIDColumn() {
		names = append(names, p.Table.ID.Quoted)
	}
	return strings.Join(names, ", ")
}

// RowVariables returns the number of placeholders in a row of InsertText.
func (p *Plan) RowVariables() int {
	n := 3 + len(p.Stored)
	if p.Table.HasIDColumn() {
		n++
	}
	return n
}

// RowTypes returns the types of the values that RowArgs appends.
func (p *Plan) RowTypes() []engine.PropertyType {
	types := []engine.PropertyType{engine.String, engine.Int, engine.String}
	for _, property := range p.Stored {
		types = append(types, property.ValueType())
	}
	if p.Table.HasIDColumn() {
		types = append(types, p.Table.ID.Type)
	}
	return types
}

// InsertText returns an INSERT of the given number of rows. RowArgs returns the arguments for its placeholders. tail is
// appended to the statement.
func (p *Plan) InsertText(tr sqldb.Traits, rows int, tail string) string {
	b := sqldb.NewBuilder(tr)
	b.Add("INSERT INTO ", p.Table.Quoted, " (", p.RowColumns(), ") VALUES ")
	class := sqldb.QuoteText(p.Class.FullName)
	for i := range rows {
		if i > 0 {
			b.Add(", ")
		}
		b.Add("(", class, ", ")
		b.Bind(nil)
		b.Add(", ")
		b.Bind(nil)
		b.Add(", ")
		b.Bind(nil)
		for range p.RowVariables() - 3 {
			b.Add(", ")
			b.Bind(nil)
		}
		b.Add(")")
	}
	b.Add(tail)
	return b.Text()
}

// InsertArrays returns an INSERT like InsertText. It has one array for each column instead of one placeholder for each
// value.
func (p *Plan) InsertArrays(tr sqldb.Traits, d sqldb.Dialect, tail string) string {
	b := sqldb.NewBuilder(tr)
	b.Add("INSERT INTO ", p.Table.Quoted, " (", p.RowColumns(), ") SELECT ", sqldb.QuoteText(p.Class.FullName), ", * FROM ")
	b.Unnest(d, p.RowTypes(), nil)
	b.Add(tail)
	return b.Text()
}

// UpsertTail returns a tail for InsertText that updates a row if a row with the same id exists already. mask has one
// character for each stored property: 1 if the update sets the property. returned lists the columns that the statement
// returns; nil for none.
func (p *Plan) UpsertTail(tr sqldb.Traits, rows int, mask string, returned *sqldb.Result) string {
	b := sqldb.NewBuilder(tr)
	b.Args = make([]any, rows*p.RowVariables())
	b.UpdateExisting(p.Table.ID.Quoted)
	b.AssignNew(RevColumn, VersionColumn)
	b.Add(", ", EditorColumn, " = ")
	b.Bind(nil)
	for i, property := range p.Stored {
		if col := p.Table.Column(property); mask[i] == '1' && !col.Key {
			b.Add(", ")
			b.AssignNew(col.Quoted)
		}
	}
	for i, col := range p.KeyColumns() { // update only if the key is the same, because different keys can have the same id
		b.Add([]string{" WHERE ", " AND "}[min(i, 1)], p.Table.Quoted, ".", col.Quoted, " = ", b.Clauses.Excluded, col.Quoted)
	}
	if returned != nil {
		b.Returning(returned.List)
	}
	return b.Text()
}

// CanUpsert reports whether a single statement can insert an item of the class if it is new, and update it if it
// exists.
func (p *Plan) CanUpsert() bool {
	d := &p.Duties
	return p.Shapes == nil && p.ClassCondition() == "" && !p.Caching.Watched && !d.Late && d.change == nil && d.Creator == nil && d.Editor == nil
}

// RowArgs appends the arguments for one row of InsertText.
func (p *Plan) RowArgs(args []any, it *engine.Item) []any {
	args = append(args, OrNull(it.Version), int64(it.Revision), OrNull(it.Creator))
	for _, property := range p.Stored {
		args = append(args, sqldb.Encode(it.Values[property.Index]))
	}
	if p.Table.HasIDColumn() {
		args = append(args, it.ID)
	}
	return args
}

// OrNull returns nil for "", and s for any other value of a system column. An empty text is stored as null, because
// null is faster to read.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// LoadRow sets the fields of item it from raw, a row of SQL().Selected. It reuses it.Values if the capacity suffices.
func (p *Plan) LoadRow(it *engine.Item, raw []any) {
	for _, i := range p.convert {
		if v := raw[p.system+i]; v != nil {
			raw[p.system+i] = sqldb.Decode(p.columns[i].Type, v)
		}
	}
	rev, _ := raw[AtRev].(int64)
	it.Revision = uint64(rev)
	it.Version = sqldb.TextOf(raw[atVersion])
	it.Creator = sqldb.TextOf(raw[AtCreator])
	it.Editor = sqldb.TextOf(raw[AtEditor])
	it.Class = p.Class
	values := raw[p.system:]
	sh := p.shape
	if p.Shapes != nil {
		if known := p.Shapes[sqldb.TextOf(raw[atClass])]; known != nil { // nil if the class was added after this Layout was made
			sh = known
		}
		it.Class = sh.class
	}
	n := len(it.Class.Properties)
	if cap(it.Values) < n {
		it.Values = make(engine.Values, n)
	}
	it.Values = it.Values[:n]
	if sh.whole {
		copy(it.Values, values)
	} else {
		for i, at := range sh.at {
			if it.Values[i] = nil; at >= 0 {
				it.Values[i] = values[at]
			}
		}
	}
	it.ID = it.Class.ID(it.Values)
}

// KeyColumns returns the columns of the properties of the key, in order, or nil if the key has one property.
func (p *Plan) KeyColumns() []*Column {
	if !p.Table.HasIDColumn() {
		return nil
	}
	columns := make([]*Column, len(p.Class.Key))
	for i, part := range p.Class.KeyProperties() {
		columns[i] = p.Table.Column(part)
	}
	return columns
}

// FindsAll reports whether q finds all items of its class.
func (p *Plan) FindsAll(q *engine.Query) bool {
	return q.Filter == nil && q.Search == "" && q.After == nil && !(q.Exact && p.Shapes != nil)
}

// OnlyPlain removes the values of calculated attributes from v. It returns an error if v has other values that cannot
// be given to many items at once.
func (p *Plan) OnlyPlain(v engine.Values) error {
	refuse := func(property *engine.Property, reason, why string) error {
		e := engine.Errorf(engine.Invalid, reason, "attribute %s of class %s cannot be changed for many objects at once: it %s",
			engine.Quote(property.Name), p.Class.FullName, why)
		e.Class, e.Attribute = p.Class.FullName, property.Name
		return e
	}
	for _, property := range p.Duties.Derived {
		v[property.Index] = engine.Absent
	}
	for _, property := range p.Class.KeyProperties() {
		if v[property.Index] != engine.Absent {
			return refuse(property, "key", "is the key")
		}
	}
	for _, property := range p.Duties.Collections {
		if v[property.Index] != engine.Absent {
			return refuse(property, "collection", "is a collection")
		}
	}
	for _, property := range p.Duties.Files {
		if v[property.Index] != engine.Absent {
			return refuse(property, "file", "is a file")
		}
	}
	for _, property := range p.Duties.References {
		if _, nested := v[property.Index].(*engine.Record); nested {
			return refuse(property, "nested", "was given as an object")
		}
	}
	return nil
}

// PropertyIn returns the property that is stored in the column with that name, or nil if there is none.
func (p *Plan) PropertyIn(column string) *engine.Property {
	for _, property := range p.Stored {
		if p.Table.Column(property).Name == column {
			return property
		}
	}
	return nil
}

// HasKey reports whether the key in given is that of a stored item. stored returns the part of the stored key with a
// given position. If a part is missing in given, the keys are not compared and the result is true.
func (p *Plan) HasKey(given engine.Values, stored func(part int) any) bool {
	if p.Class.ID(given) == "" {
		return true
	}
	for i, part := range p.Class.KeyProperties() {
		if engine.ValueText(stored(i)) != engine.ValueText(given[part.Index]) {
			return false
		}
	}
	return true
}

// IDOf returns a list with the id of an item, for a search in the index on ids. It is used if the key has several
// properties. value returns the value of a property of the key. The result is nil if one of these values is missing.
func (p *Plan) IDOf(value func(property string) any) []any {
	v := engine.NewValues(p.Class)
	for _, key := range p.Class.KeyProperties() {
		v[key.Index] = value(key.Name)
	}
	if id := p.Class.ID(v); id != "" {
		return []any{id}
	}
	return nil
}

// HoldsClass reports whether c is the plan's class or one of its descendants.
func (p *Plan) HoldsClass(c *engine.Class) bool {
	return c == p.Class || slices.Contains(p.Class.Descendants, c)
}

// InParts reports whether a change of many items is made in parts. Parts limit the memory for the previous values of
// items, which is useful only if the journal needs these values. Parts are impossible if cached attributes must be
// computed again, because the computation needs the previous values of all items.
func (p *Plan) InParts() bool { return p.Duties.Journaled && !p.Caching.Any }
