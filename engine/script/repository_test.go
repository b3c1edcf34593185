package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/vm"
)

// as runs an async expression for an account.
func (a *app) as(id, expression string) string {
	a.t.Helper()
	g := a.load("module.exports = {'GET /': async (req) => { " + expression + " }}")
	defer g.Close()
	return strings.TrimPrefix(answer(send(a.t, g, request{account: &engine.Account{ID: id}})), jsonType)
}

func TestDataRepo(t *testing.T) {
	a := newApp(t, limits.Limits{Rows: 5}, false)
	a.repo.fill(t, 3)
	const n0 = `{"_creator":"setup@local","_id":"g1","__string":"note 0","__class":"note@demo","__classTitle":"Note","id":"g1","title":"note 0","n":0,"price":12.5,"at":"2024-02-03T04:05:06.000Z","done":true}`
	const caught = "try { %s } catch (e) { return [e instanceof Error, e.code, e.message, e.class, e.attribute] }"
	for _, c := range []struct{ expression, want string }{
		{`const l = await dataRepo.getList('note@demo', {count: 1}); return l`, "[" + n0 + "]"},
		{`const l = await dataRepo.getList('note', {count: 1}); return {l, x: l[0]}`, `{"l":[` + n0 + `],"x":` + n0 + `}`},
		{`const l = await dataRepo.getList('note@demo', {offset: 1, count: 1, countTotal: true}); return [l.length, l.total, Array.isArray(l), l.map(i => i.id), [...l].length]`, `[1,3,true,["g2"],1]`},
		{`const l = await dataRepo.getList('note@demo'); l[0].x = 1; l.push(7); l.reverse(); return [l.length, l[0], l[3].x, l.total === undefined]`, `[4,7,1,true]`},
		{`return (await dataRepo.getList('note@demo', {filter: {eq: ['$n', 2]}})).map(i => i.getItemId())`, `["g3"]`},
		{`return (await dataRepo.getList('note@demo', {filter: {n: {$eq: '2'}}})).map(i => i.get('title'))`, `["note 2"]`},
		{`return (await dataRepo.getList('note@demo', {filter: {at: new Date('2024-02-03T04:05:06Z'), n: 1n}, sort: {n: -1}})).map(i => i.id)`, `["g2"]`},
		{`const i = await dataRepo.getItem('note@demo', 'g2'); return (await dataRepo.getList(i)).length`, `1`},
		{`return await dataRepo.getCount('note@demo', {filter: {done: true}})`, `2`},
		{`return [await dataRepo.getItem('note@demo', 'none'), await dataRepo.getItem('note@demo', null)]`, `[null,null]`},
		{`const i = await dataRepo.getItem('note@demo', 'g1'); const o = {}; for (const n in i.getProperties()) { const p = i.getProperties()[n]; o[p.getName()] = [p.getValue(), p.getType(), p.getCaption()] } return o`,
			`{"__class":["note@demo",0,"Class"],"__classTitle":["Note",0,"Class title"],"id":["g1",12,"Id"],"title":["note 0",0,"Title"],"n":[0,6,"Number"],"price":[12.5,8,"Price"],"at":["2024-02-03T04:05:06.000Z",9,"At"],"done":[true,10,"Done"]}`},
		{`const i = await dataRepo.getItem('note@demo', 'g1'); return [i.getClassName(), String(i), i.id, i.base._class, i.base.title, i.get('at') instanceof Date, i.getCreator(), i.getMetaClass().getName(), i.classMeta.propertyMetas.n.type, i.property('title').getValue(), i.property('x')]`,
			`["note@demo","note 0","g1","note@demo","note 0",true,"setup@local","note",6,"note 0",null]`},
		{`const i = await dataRepo.getItem('note@demo', 'g1'); return [JSON.stringify(i) === JSON.stringify(i.toJSON()), JSON.parse(JSON.stringify(i)).title]`, `[true,"note 0"]`},
		{`const i = await dataRepo.getItem('note@demo', 'g1'); i.set('title', 'new'); i.property('n').setValue(5); return [i.get('title'), i.base.n, i, (await dataRepo.getItem(i)).get('title')]`,
			`["new",5,` + strings.NewReplacer("note 0", "new", `"n":0`, `"n":5`).Replace(n0) + `,"note 0"]`},
		{`const o = (await dataRepo.getItem('note@demo', 'g1')).toJSON(); o.extra = 1; delete o.at; return o.extra`, `1`},
		{`const i = await dataRepo.createItem('note@demo', {title: 'made', n: 9007199254740993n, price: '0.1234567890123456789', secret: 'pw', nope: 1}); return [typeof i.get('n'), typeof i.get('price'), i.get('secret'), i]`,
			`["bigint","string",null,{"_creator":"bob@local","_id":"g4","__string":"made","__class":"note@demo","__classTitle":"Note","id":"g4","title":"made","n":9007199254740993,"price":0.1234567890123456789,"at":null,"done":null}]`},
		{`return (await dataRepo.editItem('note@demo', 'g4', {n: 7, at: 0, title: undefined})).toJSON()`,
			`{"_creator":"bob@local","_editor":"bob@local","_id":"g4","__string":"made","__class":"note@demo","__classTitle":"Note","id":"g4","title":"made","n":7,"price":0.1234567890123456789,"at":"1970-01-01T00:00:00.000Z","done":null}`},
		{`return [(await dataRepo.saveItem('note@demo', 'mine', {n: 1})).id, (await dataRepo.saveItem('note@demo', null, {n: 1})).id, (await dataRepo.saveItem('note@demo', 'mine', {n: 2}, '2')).get('n')]`, `["mine","g6",2]`},
		{`return [await dataRepo.deleteItem('note@demo', 'mine') === undefined, await dataRepo.deleteItem(await dataRepo.getItem('note@demo', 'g6')) === undefined, await dataRepo.getCount('note@demo')]`, `[true,true,4]`},
		{fmt.Sprintf(caught, `await dataRepo.editItem('note@demo', 'none', {})`), `[true,"unknown-object","note@demo has no object \"none\"","note@demo",null]`},
		{fmt.Sprintf(caught, `await dataRepo.getList('nope@demo')`), `[true,"unknown-class","class \"nope@demo\" does not exist","nope@demo",null]`},
		{fmt.Sprintf(caught, `await dataRepo.getList('note@demo', {filter: {nope: 1}})`), `[true,"unknown-attribute","class note@demo has no attribute \"nope\"","note@demo","nope"]`},
		{fmt.Sprintf(caught, `await dataRepo.getList('note@demo', {sort: {n: 'x'}})`), `[true,"sort","sort by \"n\" takes 1 (ascending) or -1 (descending), found \"x\"",null,null]`},
		{fmt.Sprintf(caught, `await dataRepo.getList('note@demo', {count: -1})`), `[true,"count","count takes a whole number that is not negative, found -1",null,null]`},
		{fmt.Sprintf(caught, `await dataRepo.createItem('note@demo', {n: 'x'})`), `[true,"type","attribute \"n\" takes a whole number of 64 bits (int), found \"x\"","note@demo","n"]`},
		{fmt.Sprintf(caught, `await dataRepo.createItem('note@demo', {n: NaN})`), `[true,"type","NaN is no value that can be stored or compared",null,null]`},
		{fmt.Sprintf(caught, `const o = {}; o.o = o; await dataRepo.createItem('note@demo', o)`), `[true,"type","the value is cyclic or nested deeper than 64 levels",null,null]`},
		{fmt.Sprintf(caught, `await dataRepo.createItem('note@demo', 5)`), `[true,"argument","data is an object of attributes, found 5",null,null]`},
		{fmt.Sprintf(caught, `await dataRepo.getItem()`), `[true,"argument","the first argument is the name of a class, found nothing",null,null]`},
		{`await dataRepo.createItem('note@demo', {}); await dataRepo.createItem('note@demo', {}); ` + fmt.Sprintf(caught, `await dataRepo.getList('note@demo')`),
			`[true,"too-many-items","getList found more than 5 items of note@demo: pass a count, or a narrower filter",null,null]`},
		{`return (await dataRepo.getList('note@demo', {count: 5})).length`, `5`},
	} {
		expect(t, a.as("bob@local", c.expression), c.want)
	}
	expectIn(t, a.log.String(), "attributes=[nope]")
}

func TestMetaRepo(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	expect(t, a.as("bob@local", `const m = metaRepo.getMeta('note@demo');
		return [m.getName(), m.getCaption(), m.getNamespace(), m.getCanonicalName(), m.getVersion(), m.getKeyProperties(), m.getPropertyMetas().length,
			m.getPropertyMeta('n').type, m.getPropertyMeta('x'), m.plain.key, metaRepo.listMeta()[0] === m, metaRepo.getMeta('note') === m, m.getAncestor(), m.checkAncestor('note')]`),
		`["note","Note","demo","note@demo","1",["id"],7,6,null,["id"],true,true,null,true]`)
	expect(t, a.as("bob@local", `try { metaRepo.getMeta('x@y') } catch (e) { return [e.code, e.message] }`), `["unknown-class","class \"x@y\" does not exist"]`)
}

// TestAccountFollowsContext runs two interleaved requests on one VM. Each
// operation must act for the account of its own request.
func TestAccountFollowsContext(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1}, false)
	a.repo.fill(t, 1)
	a.repo.delay = func() { time.Sleep(time.Millisecond) }
	g := a.load(`let shared, release;
		module.exports = {'GET /': async (req) => {
			const made = [];
			const make = async () => made.push((await dataRepo.createItem('note@demo', {})).getCreator());
			await make();
			await new Promise(ok => setTimeout(ok, 1));
			await make();
			if (!shared) { shared = new Promise(ok => release = ok); setTimeout(() => release({then: (f) => f(1)}), 5); }
			await shared;
			await make();
			await Promise.all([make(), make()]);
			queueMicrotask(() => make());
			await new Promise(ok => setImmediate(async () => { await make(); ok() }));
			await (async () => { await null; await make() })();
			return [req.user.id(), ...new Set(made)];
		}}`)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			id := fmt.Sprintf("u%d@local", i)
			expect(t, answer(send(t, g, request{account: &engine.Account{ID: id}})), jsonType+`["`+id+`","`+id+`"]`)
		})
	}
	wg.Wait()
}

func TestOutsideRequest(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`let late = 'none';
		const attempt = (f) => { try { f(); return 'did it' } catch (e) { return e.code } };
		module.exports = {
			'GET /': () => { setTimeout(() => late = [attempt(() => dataRepo.getCount('note@demo')), attempt(() => metaRepo.getMeta('note@demo'))], 20); return 1 },
			'POST /': () => late }`)
	get(t, g)
	eventually(t, "the surviving timer is refused", func() bool {
		return answer(send(t, g, request{method: "POST"})) == jsonType+`["no-request","no-request"]`
	})
	if len(a.repo.who) != 0 {
		t.Errorf("the repository was called for %v", a.repo.who)
	}
}

func TestRepositoryFailures(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	code := func(c engine.Code, message string) error { return engine.Errorf(c, "reason", "%s", message) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{code(engine.Forbidden, "no rights on note"), "403 text/plain; charset=utf-8 no rights on note"},
		{code(engine.Invalid, "bad"), "error internal Internal server error"},
		{code(engine.NotFound, "none"), "error internal Internal server error"},
		{code(engine.Unavailable, "away"), "error unavailable away"},
		{code(engine.Timeout, "slow"), "error timeout slow"},
		{errors.New("disk on fire"), "error internal Internal server error"},
	} {
		a.repo.fail = c.err
		expect(t, a.as("bob@local", "return await dataRepo.getCount('note@demo')"), c.want)
		expect(t, a.as("bob@local", "try { await dataRepo.getCount('note@demo') } catch (e) { throw {code: e.code, message: 'wrapped'} }"),
			strings.ReplaceAll(map[bool]string{true: "403 text/plain; charset=utf-8 wrapped", false: "error internal Internal server error"}[engine.CodeOf(c.err) == engine.Forbidden], "", ""))
	}
	_, err := send(t, a.load("module.exports = {'GET /': () => dataRepo.getCount('note@demo')}"), request{})
	expectIn(t, err.Error(), "disk on fire") // for the log
	a.repo.fail = code(engine.Invalid, "bad")
	g := a.load("module.exports = {'GET /': async () => {\n  return await dataRepo.getCount('note@demo');\n}}")
	_, err = send(t, g, request{})
	var f *vm.Failure
	if !errors.As(err, &f) || f.Place() != "svc.js:2:33" {
		t.Errorf("got %+v, want the line that called the repository", f)
	}
	a.repo.delay = func() { panic("bug in the store") }
	expect(t, get(t, g), "error internal Internal server error")
}

func TestCancelledRequest(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	ctx, cancel := context.WithCancel(context.Background())
	a.repo.delay = cancel
	g := a.load("module.exports = {'GET /': async () => { await dataRepo.getCount('note@demo'); return 1 }, 'POST /': () => 2}")
	expectIn(t, answer(send(t, g, request{ctx: ctx})), "error timeout ")
	expect(t, answer(send(t, g, request{method: "POST"})), jsonType+"2")
}
