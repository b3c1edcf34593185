package sqlquery

import (
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
)

// writeSearch writes the condition that an item matches a search text. If the class has search words, each word of the
// text must be the beginning of a search word of the item. If the class has no search words, a textual property must
// contain the text, ignoring case.
func (b *Builder) writeSearch(src *Source, text string) {
	if err := query.CheckSearch(text); err != nil {
		b.fail(err)
		return
	}
	if c := src.Plan.Class; query.Searched(c) {
		// The search words of all attributes of an item are stored together. They cannot be used if one of these
		// attributes is hidden from the account.
		if b.guard.MayMeet(c) {
			searchShown(b, src, query.QueryWords(text))
			return
		}
		searchWords(b, src, query.QueryWords(text))
		return
	}
	text = strings.TrimSpace(text)
	var any []string
	for _, p := range src.Plan.Class.Properties {
		if p.Type.Textual() && p.Type != engine.Password && p.Stored() && text != "" && !b.guard.IsUnusable(p) {
			any = append(any, src.Column(p))
		}
	}
	if len(any) == 0 {
		writeConstant(b, false)
		return
	}
	writeIncludes(b, text, any)
}

// writeIncludes appends the condition that one of the columns contains a text.
func writeIncludes(b *Builder, text string, columns []string) {
	word := "("
	for some := range slices.Chunk(columns, sqldb.MaxArguments) {
		b.Add(word, b.Dialect.Function(sqldb.IncludesAny, append([]string{b.value(engine.String, text)}, some...)...))
		word = " OR "
	}
	b.Add(")")
}

func searchWords(b *Builder, src *Source, words []string) {
	if len(words) == 0 {
		writeConstant(b, false)
		return
	}
	full := b.FullText
	query := make([]string, len(words))
	for i, w := range words {
		query[i] = fmt.Sprintf(full.Word, w)
	}
	b.Add(fmt.Sprintf(full.Condition, src.Alias, sqldb.QuoteName(src.Plan.Table.SearchIndex()), b.Placeholder(strings.Join(query, full.And))))
}

// searchShown writes the condition that each word occurs in a value that the account may read. It cannot use the
// search index, which contains the words of all searched properties.
func searchShown(b *Builder, src *Source, words []string) {
	var columns []string
	all, passed := rights.SearchedIn(src.Plan.Class), map[string]bool{}
	for _, p := range all { // several classes share columns of the same name
		passed[p.Name] = passed[p.Name] || b.guard.IsUnusable(p)
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
		b.Add([]string{"", " AND "}[min(i, 1)])
		writeIncludes(b, word, columns)
	}
}

// asText returns an expression for the value of a property as text.
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
