package script

import (
	"testing"

	"restsrv/engine/script/limits"
)

// TestItemAttributes: attributes can be read as properties of the item, but are not enumerable.
func TestItemAttributes(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 1)
	const item = `const i = await dataRepo.getItem('note@demo', 'g1'); `
	for _, c := range []struct{ expression, want string }{
		{item + `return [i.title, i.n, i.at instanceof Date, 'title' in i, i.nope, 'nope' in i]`, `["note 0",0,true,true,null,false]`},
		{item + `return [Object.keys(i), Object.keys({...i})]`, `[["id","base"],["id","base"]]`},
		{item + `return JSON.stringify(i) === JSON.stringify(i.toJSON())`, `true`},
		{item + `return [i.secret, 'secret' in i]`, `[null,false]`},
		{item + `i.set('title', 'new'); return i.title`, `"new"`},
		{item + `i.title = 'mine'; return [i.title, i.get('title'), i.toJSON().title]`, `["mine","note 0","mine"]`},
		{item + `const {title, n} = i; return [title, n]`, `["note 0",0]`},
	} {
		if got := a.as("bob@local", c.expression); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.expression, got, c.want)
		}
	}
}
