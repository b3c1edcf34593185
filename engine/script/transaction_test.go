package script

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	sqlstore "restsrv/engine/store"
	"restsrv/engine/store/sqlite"
)

var ann = &engine.Account{ID: "ann@local"}

// newStoredApp returns an app with a database and the class of memory.
func newStoredApp(t testing.TB, limits limits.Limits) (*app, *sqlstore.Store) {
	t.Helper()
	a := newApp(t, limits, false)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlstore.Open(context.Background(), db, sqlstore.Config{Classes: a.repo.Classes(), HashPassword: func(_ context.Context, p string) (string, error) { return p, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	a.data = st
	return a, st
}

// stored lists the ids of the notes in the database.
func stored(t testing.TB, a *app) string {
	t.Helper()
	var all []string
	err := a.data.List(t.Context(), &engine.Query{Class: a.repo.class, Count: -1}, func(it *engine.Item) error {
		all = append(all, it.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestTransaction runs handlers and checks their responses and the stored
// notes.
func TestTransaction(t *testing.T) {
	for name, c := range map[string]struct{ handler, answer, stored string }{
		"commits": {
			`const r = await dataRepo.transaction(async tx => {
				await tx.createItem('note', {id: 'a', title: 'x'});
				await tx.editItem('note', 'a', {title: 'y'});
				return {in: (await tx.getItem('note', 'a')).get('title'), out: await dataRepo.getItem('note', 'a')};
			});
			return [r, await dataRepo.getCount('note')]`,
			`[{"in":"y","out":null},1]`, "a"},
		"is undone by what is thrown, which comes out": {
			`const e = new Error('no');
			try { await dataRepo.transaction(async tx => { await tx.createItem('note', {id: 'a'}); throw e }) }
			catch (x) { return [x === e, await dataRepo.getCount('note')] }`,
			`[true,0]`, ""},
		"is undone when its function throws at once": {
			`try { await dataRepo.transaction(tx => { throw 'now' }) } catch (x) { return x }`, `"now"`, ""},
		"takes a function that waits for nothing": {
			`return await dataRepo.transaction(() => 5)`, `5`, ""},
		"a failure that is caught": {
			`await dataRepo.createItem('note', {id: 'taken'});
			return await dataRepo.transaction(async tx => {
				await tx.createItem('note', {id: 'a'});
				let code;
				try { await tx.createItem('note', {id: 'taken'}) } catch (x) { code = x.code }
				await tx.createItem('note', {id: 'b'});
				return code;
			})`, `"duplicate"`, "taken a b"},
		"calls at the same time": {
			`await dataRepo.transaction(tx => Promise.all(['a', 'b', 'c'].map(id => tx.createItem('note', {id}))));
			return await dataRepo.getCount('note')`, `3`, "a b c"},
		"a write beside it": {
			`try { await dataRepo.transaction(async tx => { await tx.createItem('note', {id: 'a'}); await dataRepo.createItem('note', {id: 'b'}) }) }
			catch (x) { return x.message }`,
			`"inside a transaction use tx, the argument of its function: a write of another repository would wait for the transaction to end"`, ""},
		"a write beside it, from a timer": {
			`return await dataRepo.transaction(tx => new Promise(resolve =>
				setTimeout(() => dataRepo.createItem('note', {id: 'b'}).catch(x => resolve(x.code)), 1)))`,
			`"transaction"`, ""},
		"a write after it": {
			`await dataRepo.transaction(async tx => { await tx.createItem('note', {id: 'a'}) });
			await dataRepo.createItem('note', {id: 'b'}); return 1`, `1`, "a b"},
		"is used after its end": {
			`let kept; await dataRepo.transaction(async tx => { kept = tx });
			try { await kept.getCount('note') } catch (x) { return x.message }`,
			`"the transaction is over: its repository works until the function that got it has ended"`, ""},
		"one within another": {
			`await dataRepo.transaction(async tx => {
				await tx.createItem('note', {id: 'a'});
				await tx.transaction(async inner => { await inner.createItem('note', {id: 'b'}); throw 1 }).catch(() => 0);
				await tx.transaction(async inner => { await inner.createItem('note', {id: 'c'}) });
				await tx.transaction(inner => tx.createItem('note', {id: 'd'})).catch(x => console.log(x.message));
			}); return 1`, `1`, "a c"},
		"iterators": {
			`return await dataRepo.transaction(async tx => {
				await tx.createItem('note', {id: 'a'});
				const i = await tx.getIterator('note', {});
				return [await i.count(), (await i.next()).id, await i.next()];
			})`, `[1,"a",null]`, "a"},
		"takes no text": {
			`try { await dataRepo.transaction('x') } catch (x) { return x.message }`, `"transaction takes a function, found \"x\""`, ""},
		"its functions stand alone": {
			`const {transaction} = dataRepo;
			await transaction(async ({createItem}) => { await createItem('note', {id: 'a'}) }); return 1`, `1`, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newStoredApp(t, limits.Limits{Transaction: 2 * time.Second})
			g := a.load(`module.exports = {'GET /': async () => {` + c.handler + `}}`)
			expect(t, answer(send(t, g, request{account: ann})), jsonType+c.answer)
			ids := strings.Fields(stored(t, a))
			if name == "calls at the same time" {
				slices.Sort(ids)
			}
			expect(t, strings.Join(ids, " "), c.stored)
		})
	}
}

func TestTransactionTime(t *testing.T) {
	a, _ := newStoredApp(t, limits.Limits{Transaction: 50 * time.Millisecond})
	g := a.load(`module.exports = {'GET /': async () => {
		try { await dataRepo.transaction(async tx => { await tx.createItem('note', {id: 'a'}); await new Promise(() => 0) }) }
		catch (x) { await dataRepo.createItem('note', {id: 'b'}); return [x.code, x.message] }
	}}`)
	expect(t, answer(send(t, g, request{account: ann})), jsonType+`["transaction-time","the transaction took longer than 50ms and was undone"]`)
	expect(t, stored(t, a), "b")
}

// TestTransactionEnds ends the request of a transaction in several ways. The
// next transaction must not wait.
func TestTransactionEnds(t *testing.T) {
	for name, c := range map[string]struct{ end, answer string }{
		"never settles":     {`await new Promise(() => 0)`, "error timeout service svc did not answer in time"},
		"an endless loop":   {`for (;;);`, "error internal Internal server error"},
		"endless recursion": {`(function f() { f() })()`, "error internal Internal server error"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newStoredApp(t, limits.Limits{Transaction: 20 * time.Second, Wall: 300 * time.Millisecond, CPU: 100 * time.Millisecond})
			g := a.load(`module.exports = {
				'GET /': async () => { await dataRepo.transaction(async tx => { await tx.createItem('note', {id: 'a'}); ` + c.end + ` }) },
				'POST /': async () => { await dataRepo.createItem('note', {id: 'b'}); return 1 },
			}`)
			expect(t, answer(send(t, g, request{account: ann})), c.answer)
			expect(t, answer(send(t, g, request{method: "POST", account: ann})), jsonType+"1")
			expect(t, stored(t, a), "b")
		})
	}
	t.Run("answered", func(t *testing.T) {
		a, _ := newStoredApp(t, limits.Limits{Transaction: 20 * time.Second})
		g := a.load(`module.exports = {'GET /': async () => new Promise(answer => {
			dataRepo.transaction(async tx => { await tx.createItem('note', {id: 'a'}); answer(1); await new Promise(() => 0) });
		})}`)
		expect(t, answer(send(t, g, request{account: ann})), jsonType+"1")
		eventually(t, "it is undone", func() bool { return stored(t, a) == "" })
		eventually(t, "the undone transaction is logged", func() bool { return strings.Contains(a.log.String(), "a transaction was undone") })
		expectIn(t, a.log.String(), "level=ERROR", "request=r1", "the request was answered before its transaction ended: await it", "svc.js:2:")
		if _, err := a.data.Create(as(ann), a.repo.class, engine.NewValues(a.repo.class), engine.WriteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func as(a *engine.Account) context.Context { return engine.WithAccount(context.Background(), a) }

// TestTransactionsTogether runs many transactions and other writes on one VM.
func TestTransactionsTogether(t *testing.T) {
	a, _ := newStoredApp(t, limits.Limits{VMs: 1})
	g := a.load(`module.exports = {
		'GET /': async req => dataRepo.transaction(async tx => {
			const it = await tx.getItem('note', 'sum');
			await tx.createItem('note', {title: 'part'});
			return await tx.editItem('note', 'sum', {n: it.get('n') + 1});
		}).then(() => 1),
		'POST /': async req => { await dataRepo.createItem('note', {title: 'alone'}); return 1 },
	}`)
	v := engine.NewValues(a.repo.class)
	v[0], v[a.repo.class.Property("n").Index] = "sum", int64(0)
	if _, err := a.data.Create(as(ann), a.repo.class, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			method := []string{"GET", "POST"}[i%2]
			expect(t, answer(send(t, g, request{method: method, account: ann})), jsonType+"1")
		})
	}
	wg.Wait()
	it, err := a.data.Get(t.Context(), a.repo.class, "sum")
	if err != nil || it.Get("n") != int64(50) {
		t.Errorf("sum is %v, %v", it, err)
	}
	expect(t, fmt.Sprint(len(strings.Fields(stored(t, a)))), "101")
}

// TestTransactionOfOthers uses a transaction in another request.
func TestTransactionOfOthers(t *testing.T) {
	a, _ := newStoredApp(t, limits.Limits{VMs: 1})
	g := a.load(`let kept, go; const given = new Promise(r => { go = r });
	module.exports = {
		'GET /': async () => dataRepo.transaction(async tx => { kept = tx; go(); await new Promise(r => setTimeout(r, 100)); return 1 }),
		'POST /': async () => { await given; try { await kept.getCount('note') } catch (x) { return x.message } },
	}`)
	var wg sync.WaitGroup
	wg.Go(func() { expect(t, answer(send(t, g, request{account: ann})), jsonType+"1") })
	wg.Go(func() {
		expect(t, answer(send(t, g, request{method: "POST", account: &engine.Account{ID: "bob@local"}})), jsonType+`"the transaction is that of another request"`)
	})
	wg.Wait()
}

// contended is a repository whose first transaction is undone because of a
// conflict.
type contended struct {
	engine.Repository
	undone bool
}

func (c *contended) Transaction(ctx context.Context, work func(context.Context) error) error {
	return engine.InTransaction(ctx, c.Repository, func(ctx context.Context) error {
		err := work(ctx)
		if !c.undone {
			c.undone = true
			err = &engine.Error{Code: engine.Unavailable, Reason: "busy", Message: "another transaction was in the way"}
		}
		return err
	})
}

// TestTransactionAttempts undoes the first attempt of a transaction. Later
// operations of its function must not belong to the second attempt.
func TestTransactionAttempts(t *testing.T) {
	a, st := newStoredApp(t, limits.Limits{})
	a.data = &contended{Repository: st}
	g := a.load(`module.exports = {'GET /': async () => {
		let calls = 0, late;
		await dataRepo.transaction(async tx => {
			if (++calls == 1) {
				setTimeout(async () => { try { await tx.createItem('note', {id: 'late'}) } catch (x) { late = x.message } }, 50);
				return;
			}
			await new Promise(r => setTimeout(r, 200));
			await tx.createItem('note', {id: 'a'});
		}, {attempts: 2});
		return [calls, late];
	}}`)
	expect(t, answer(send(t, g, request{account: ann})), jsonType+`[2,"the transaction is over: its repository works until the function that got it has ended"]`)
	expect(t, stored(t, a), "a")
}

// failing is a repository whose transactions panic.
type failing struct{ engine.Repository }

func (failing) Transaction(context.Context, func(context.Context) error) error { panic("faulty") }

func TestTransactionOfFaultyRepository(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.data = failing{a.repo}
	g := a.load("module.exports = {'GET /': async () => await dataRepo.transaction(async () => 1), 'PUT /': () => 1}")
	r, err := send(t, g, request{account: ann})
	expect(t, answer(r, err), "error internal Internal server error")
	expectIn(t, err.Error(), "panic: faulty")
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
}
