package schema

import (
	"fmt"
	"strings"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// SearchText returns the value of layout.SearchColumn for an item.
func SearchText(it *engine.Item) any {
	if words := query.IndexedWords(it); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return nil
}

// wordsDDL returns the statements that create the index of search words of a table.
func (u *upgrader) wordsDDL(t *layout.Table) (ddl []string) {
	for _, text := range u.traits.FullText.Schema {
		ddl = append(ddl, fmt.Sprintf(text, t.Quoted, u.traits.Quote(t.SearchIndex()), strings.TrimSuffix(u.traits.Quote(t.SearchIndex()+"#"), `"`)))
	}
	return ddl
}

// makeSearchable adds the column and the index of search words to an existing table if the classes need them. It
// computes the words of all items again if the searched properties have changed.
func (u *upgrader) makeSearchable(t *layout.Table) error {
	wanted := t.WordsRow()
	had, there := u.memory.Classes[layout.SearchMemory][t.Name]
	switch {
	case !t.HasWords():
		if there && had.Kind != "" {
			had.Kind = "" // later writes do not update the words
			u.rememberRow(had)
		}
		return nil
	case there && had.Kind == wanted.Kind:
		return nil
	}
	if !there {
		if err := u.exec("ALTER TABLE ", t.Quoted, " ADD COLUMN ", layout.SearchColumn, " ", u.dialect.ColumnType(engine.String)); err != nil {
			return err
		}
		for _, ddl := range u.wordsDDL(t) {
			if err := u.exec(ddl); err != nil {
				return err
			}
		}
	}
	for _, c := range t.Classes {
		if err := u.fillWords(t, c); err != nil {
			return err
		}
	}
	u.rememberRow(wanted)
	return nil
}

// fillWords computes the search words of all items of one class.
func (u *upgrader) fillWords(t *layout.Table, c *engine.Class) error {
	columns, positions := []string{layout.SeqColumn}, []*engine.Property{nil}
	for _, p := range c.Properties {
		if p.Search && p.Stored() {
			columns, positions = append(columns, t.Column(p).Quoted), append(positions, p)
		}
	}
	for last := int64(0); ; {
		b := sqldb.NewBuilder(u.traits)
		b.Add("SELECT ", strings.Join(columns, ", "), " FROM ", t.Quoted, " WHERE ", layout.ClassColumn, " = ", sqldb.QuoteText(c.FullName), " AND ", layout.SeqColumn, " > ")
		b.Bind(last)
		b.Add(" ORDER BY ", layout.SeqColumn, " LIMIT 1000")
		rows, err := u.conn.QueryContext(u.ctx, b.Text(), b.Args...)
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
				it.Values[p.Index] = sqldb.ReadValue(p.ValueType(), raw[i+1])
			}
			last, _ = raw[0].(int64)
			words[last] = SearchText(it)
		}
		if err := rows.Err(); err != nil || len(words) == 0 {
			return err
		}
		for seq, text := range words {
			b := sqldb.NewBuilder(u.traits)
			b.Add("UPDATE ", t.Quoted, " SET ", layout.SearchColumn, " = ")
			b.Bind(text)
			b.Add(" WHERE ", layout.SeqColumn, " = ")
			b.Bind(seq)
			if _, err := u.conn.ExecContext(u.ctx, b.Text(), b.Args...); err != nil {
				return err
			}
		}
	}
}
