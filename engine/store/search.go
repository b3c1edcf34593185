package store

import (
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
)

// searchColumn holds the search words of an item, separated by blanks. It is null if there are none.
const searchColumn = `"#search"`

// searchText returns the value of searchColumn for an item.
func searchText(it *engine.Item) any {
	if words := it.IndexedWords(); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return nil
}

// writeSearch writes the condition that an item matches a text. The item matches if each word of the text is the
// beginning of one of its words. In classes without search words, it matches if a textual property contains the text,
// ignoring case.
func (b *builder) writeSearch(src *source, text string) {
	if err := engine.CheckSearch(text); err != nil {
		b.fail(err)
		return
	}
	if c := src.plan.class; c.Searched() {
		// The words of an item are stored together, without their attributes. If the account may not read all of these
		// attributes, the words cannot be used.
		if b.guard.mayMeet(c) {
			b.searchShown(src, engine.QueryWords(text))
			return
		}
		b.searchWords(src, engine.QueryWords(text))
		return
	}
	text = strings.TrimSpace(text)
	var any []string
	for _, p := range src.plan.class.Properties {
		if p.Type.Textual() && p.Type != engine.Password && p.Stored() && text != "" && !b.guard.isUnusable(p) {
			any = append(any, src.column(p))
		}
	}
	if len(any) == 0 {
		writeConstant(b, false)
		return
	}
	b.writeIncludes(text, any)
}

// writeIncludes appends the condition that one of the columns contains a text.
func (b *builder) writeIncludes(text string, columns []string) {
	word := "("
	for some := range slices.Chunk(columns, maxArguments) {
		b.add(word, b.dialect.Function(IncludesAny, append([]string{b.value(engine.String, text)}, some...)...))
		word = " OR "
	}
	b.add(")")
}

func (b *builder) searchWords(src *source, words []string) {
	if len(words) == 0 {
		writeConstant(b, false)
		return
	}
	full := b.fullText
	query := make([]string, len(words))
	for i, w := range words {
		query[i] = fmt.Sprintf(full.Word, w)
	}
	b.add(fmt.Sprintf(full.Condition, src.alias, quoteName(src.plan.table.searchIndex()), b.placeholder(strings.Join(query, full.And))))
}

// mayMeet reports whether the search words of a class may include words of attributes that are hidden from the account.
func (g *guard) mayMeet(c *engine.Class) bool {
	for _, p := range searchedIn(c) {
		if g.isUnusable(p) {
			return true
		}
	}
	return false
}

// searchedIn returns the properties with stored words of a class and its descendants.
func searchedIn(c *engine.Class) (all []*engine.Property) {
	for _, d := range append([]*engine.Class{c}, c.Descendants...) {
		for _, p := range d.Properties {
			if p.Search && p.Stored() && p.Type.Scalar() && p.Type != engine.Password {
				all = append(all, p)
			}
		}
	}
	return all
}

// searchShown is like searchWords without the index: each word must occur in a value that the account may read.
func (b *builder) searchShown(src *source, words []string) {
	var columns []string
	all, passed := searchedIn(src.plan.class), map[string]bool{}
	for _, p := range all { // classes share columns of the same name
		passed[p.Name] = passed[p.Name] || b.guard.isUnusable(p)
	}
	for _, p := range all {
		if !passed[p.Name] {
			passed[p.Name] = true
			columns = append(columns, b.expr(src, asText(p)))
		}
	}
	if len(words) == 0 || len(columns) == 0 {
		writeConstant(b, false)
		return
	}
	for i, word := range words {
		b.add([]string{"", " AND "}[min(i, 1)])
		b.writeIncludes(word, columns)
	}
}

// asText returns the text of a property with stored words.
func asText(p *engine.Property) *engine.Expr {
	e := engine.Attribute(p)
	switch {
	case e.Type.Textual():
		return e
	case e.Type == engine.Int || e.Type == engine.Real:
		e = &engine.Expr{Op: engine.OpNumber, Type: engine.DecimalNum, Args: []*engine.Expr{e}}
	}
	return &engine.Expr{Op: engine.OpText, Type: engine.String, Args: []*engine.Expr{e}}
}

// searchIndex returns the name of the index of search words of a table.
func (t *table) searchIndex() string { return t.name + "#search" }

// hasWords reports whether a class of the table has search words.
func (t *table) hasWords() bool {
	for _, c := range t.classes {
		if c.Searched() {
			return true
		}
	}
	return false
}

// keepWords updates the search words of items that were written. It does nothing if the table has no search words.
func (s *Store) keepWords(w *session, p *plan, items ...*engine.Item) error {
	if !p.table.hasWords() {
		return nil
	}
	b := newBuilder(s.traits)
	b.add("UPDATE ", p.table.quoted, " SET ", searchColumn, " = ")
	b.bind(nil)
	p.whereKey(b, []any{nil})
	st, err := w.prepare(b.text())
	if err != nil {
		return err
	}
	for _, it := range items {
		key, _ := it.Class.KeyValues(it.ID)
		args := []any{searchText(it), encode(key[0])}
		if _, err := st.ExecContext(w.ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// searchMemory marks rows of memoryTable that list the properties with stored words of a table.
const searchMemory = "##search"

// wordsRow returns the row of memoryTable that lists the properties with stored words of a table.
func (t *table) wordsRow() kept {
	var names []string
	for _, c := range t.classes {
		for _, p := range c.Properties {
			if p.Search {
				names = append(names, c.FullName+"."+p.Name+":"+p.Type.String())
			}
		}
	}
	return kept{Class: searchMemory, Property: t.name, Root: searchMemory, Kind: strings.Join(names, ",")}
}

// wordsDDL returns the statements that create the index of search words of a table.
func (u *upgrader) wordsDDL(t *table) (ddl []string) {
	for _, text := range u.traits.FullText.Schema {
		ddl = append(ddl, fmt.Sprintf(text, t.quoted, u.traits.quote(t.searchIndex()), strings.TrimSuffix(u.traits.quote(t.searchIndex()+"#"), `"`)))
	}
	return ddl
}

// makeSearchable adds the column and the index of search words to an existing table if it needs them. If other
// properties than before are searched, it computes all words again.
func (u *upgrader) makeSearchable(t *table) error {
	wanted := t.wordsRow()
	had, there := u.memory.classes[searchMemory][t.name]
	switch {
	case !t.hasWords():
		if there && had.Kind != "" {
			had.Kind = "" // the words become outdated from now on
			u.rememberRow(had)
		}
		return nil
	case there && had.Kind == wanted.Kind:
		return nil
	}
	if !there {
		if err := u.exec("ALTER TABLE ", t.quoted, " ADD COLUMN ", searchColumn, " ", u.dialect.ColumnType(engine.String)); err != nil {
			return err
		}
		for _, ddl := range u.wordsDDL(t) {
			if err := u.exec(ddl); err != nil {
				return err
			}
		}
	}
	for _, c := range t.classes {
		if err := u.fillWords(t, c); err != nil {
			return err
		}
	}
	u.rememberRow(wanted)
	return nil
}

// fillWords computes the search words of all items of one class.
func (u *upgrader) fillWords(t *table, c *engine.Class) error {
	columns, positions := []string{seqColumn}, []*engine.Property{nil}
	for _, p := range c.Properties {
		if p.Search && p.Stored() {
			columns, positions = append(columns, t.column(p).quoted), append(positions, p)
		}
	}
	for last := int64(0); ; {
		b := newBuilder(u.traits)
		b.add("SELECT ", strings.Join(columns, ", "), " FROM ", t.quoted, " WHERE ", classColumn, " = ", quoteText(c.FullName), " AND ", seqColumn, " > ")
		b.bind(last)
		b.add(" ORDER BY ", seqColumn, " LIMIT 1000")
		rows, err := u.conn.QueryContext(u.ctx, b.text(), b.args...)
		if err != nil {
			return err
		}
		words := map[int64]any{}
		for rows.Next() {
			raw := make([]any, len(columns))
			dest := make([]any, len(columns))
			for i := range raw {
				dest[i] = &raw[i]
			}
			if err := rows.Scan(dest...); err != nil {
				_ = rows.Close()
				return err
			}
			it := &engine.Item{Class: c, Values: make(engine.Values, len(c.Properties))}
			for i, p := range positions[1:] {
				it.Values[p.Index] = readValue(p.ValueType(), raw[i+1])
			}
			last, _ = raw[0].(int64)
			words[last] = searchText(it)
		}
		if err := rows.Err(); err != nil || len(words) == 0 {
			return err
		}
		for seq, text := range words {
			b := newBuilder(u.traits)
			b.add("UPDATE ", t.quoted, " SET ", searchColumn, " = ")
			b.bind(text)
			b.add(" WHERE ", seqColumn, " = ")
			b.bind(seq)
			if _, err := u.conn.ExecContext(u.ctx, b.text(), b.args...); err != nil {
				return err
			}
		}
	}
}
