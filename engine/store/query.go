package store

import (
	"math"

	"restsrv/engine"
)

// where writes the condition of a query, if there is any.
func (p *plan) where(b *builder, f *engine.Filter) {
	if p.condition != "" {
		b.add(" WHERE ", p.condition)
		if f != nil {
			b.add(" AND ")
			p.filter(b, f, false)
		}
		return
	}
	if f != nil {
		b.add(" WHERE ")
		p.filter(b, f, false)
	}
}

// page writes the statement of a list; its last two placeholders are count
// and offset. A nil q is the whole class.
func (p *plan) page(b *builder, q *engine.Query) *builder {
	b.add("SELECT ", p.listed.list, " FROM ", p.table.quoted)
	var sorts []engine.Sort
	if q != nil {
		p.where(b, q.Filter)
		sorts = q.Sort
	} else {
		p.where(b, nil)
	}
	p.order(b, sorts)
	// The casts keep SQLite from planning anew for each value.
	b.add(p.table.quoted, ".", seqColumn, " LIMIT CAST(")
	count, offset := pageBounds(q)
	b.bind(count)
	b.add(" AS BIGINT) OFFSET CAST(")
	b.bind(offset)
	b.add(" AS BIGINT)")
	return b
}

// order writes ORDER BY and the sorts, each with a comma behind it.
func (p *plan) order(b *builder, sorts []engine.Sort) {
	b.add(" ORDER BY ")
	for _, s := range sorts {
		b.add(p.name(s.Property), []string{" NULLS FIRST, ", " DESC NULLS LAST, "}[boolToInt(s.Descending)])
	}
}

func pageBounds(q *engine.Query) (count, offset int64) {
	if q == nil {
		return 0, 0
	}
	count = int64(q.Count)
	if count < 0 {
		count = math.MaxInt64
	}
	return count, max(int64(q.Offset), 0)
}

// plain reports whether the prepared list of the class answers q.
func plain(q *engine.Query) bool { return q.Filter == nil && len(q.Sort) == 0 }
