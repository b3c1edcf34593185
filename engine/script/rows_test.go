package script

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
)

// TestRows returns rows of the database. They must look the same whether or not
// a script reads them.
func TestRows(t *testing.T) {
	const list = `const l = await dataRepo.getList('note', {countTotal: true, sort: {n: 1}});`
	const rows = `const l = await dataRepo.aggregate('note', {fields: {title: '$title', n: '$n', price: '$price', at: '$at', done: '$done'}, aggregates: {sum: {sum: ['$price']}, all: {count: []}}, sort: {n: 1}});`
	touch := `for (const i of l) i.toString();`
	for name, c := range map[string]struct {
		handler   string
		raw, made uint64
	}{
		"list":                {list + `return l`, 3, 0},
		"list as data":        {list + `return {data: l}`, 3, 0},
		"list in an object":   {list + `return {items: l, total: l.total, length: l.length}`, 3, 0},
		"list of lists":       {list + `return [[l], l]`, 6, 0},
		"text of a list":      {list + `return {data: JSON.stringify(l), headers: {'Content-Type': 'application/json'}}`, 0, 0},
		"list, first touched": {list + `return [l[0].id, l]`, 3, 1},
		"list, all touched":   {list + touch + `return l`, 3, 3},
		"list, copied":        {list + `return l.map(i => i)`, 3, 3},
		"list, changed":       {list + `l[0].extra = [1]; l[1].title = 'x'; return l`, 1, 2},
		"rows":                {rows + `return l`, 3, 0},
		"rows as data":        {rows + `return {data: l}`, 3, 0},
		"rows in an object":   {rows + `return {rows: l, n: l.length}`, 3, 0},
		"rows, all touched":   {rows + touch + `return l`, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newStoredApp(t, limits.Limits{})
			fillNotes(t, a)
			g := a.load(`module.exports = {'GET /': async () => {` + c.handler + `}}`)
			got := answer(send(t, g, request{account: ann}))
			m := a.rt.Metrics()["svc"]
			if r := m.RawRows; r != c.raw {
				t.Errorf("%d rows were written without conversion, want %d: %s", r, c.raw, got)
			}
			if m := m.MadeRows; m != c.made {
				t.Errorf("%d rows were converted, want %d: %s", m, c.made, got)
			}
		})
	}
	for name, source := range map[string]string{"items": list, "rows": rows} {
		t.Run("golden "+name, func(t *testing.T) {
			a, _ := newStoredApp(t, limits.Limits{})
			fillNotes(t, a)
			g := a.load(`module.exports = {
				'GET /': async () => {` + source + ` return l},
				'PUT /': async () => {` + source + touch + ` return l},
				'POST /': async () => {` + source + ` return l.map(i => i.toJSON ? i.toJSON() : {...i})},
				'PATCH /': async () => {` + source + ` return {data: JSON.stringify(Array.from(l)), headers: {'Content-Type': 'application/json; charset=utf-8'}}},
			}`)
			want := answer(send(t, g, request{account: ann}))
			expectIn(t, want, `9007199254740993`, `"at":"2024-02-03T04:05:06.000Z"`, `"price":12.5`)
			for _, method := range []string{"PUT", "POST", "PATCH"} {
				expect(t, method+" "+answer(send(t, g, request{method: method, account: ann})), method+" "+want)
			}
		})
	}
	t.Run("what a script added", func(t *testing.T) {
		a, _ := newStoredApp(t, limits.Limits{})
		fillNotes(t, a)
		g := a.load(`module.exports = {'GET /': async () => { const i = (await dataRepo.getList('note', {sort: {n: 1}}))[0]; i.extra = [1]; i.title = 'mine'; return i }}`)
		expectIn(t, answer(send(t, g, request{account: ann})), `"title":"mine","n":1`, `"extra":[1]}`)
	})
}

// fillNotes stores notes with values that JavaScript numbers cannot represent.
func fillNotes(t *testing.T, a *app) {
	t.Helper()
	for _, f := range []engine.Fields{
		{{Name: "title", Value: "a"}, {Name: "n", Value: int64(1)}, {Name: "price", Value: "12.50"}, {Name: "at", Value: "2024-02-03T04:05:06Z"}, {Name: "done", Value: true}},
		{{Name: "title", Value: "</b>\n"}, {Name: "n", Value: int64(2)}, {Name: "price", Value: "0.1234567890123456789"}},
		{{Name: "n", Value: int64(9007199254740993)}, {Name: "price", Value: "1e20"}},
	} {
		v, _, err := a.repo.class.Bind(f, engine.Strict)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.data.Create(as(ann), a.repo.class, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
