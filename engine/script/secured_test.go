package script

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// secured is a memory repository in which "title" is hidden from all accounts
// except ann@local, and in which the other accounts have the permissions in
// may.
type secured struct {
	*memory
	views *engine.Views
	may   engine.Permission
}

func newSecured(m *memory) *secured {
	return &secured{memory: m, may: engine.MayAll, views: engine.NewViews(func(p *engine.Property) bool { return p.Name == "title" })}
}

func (s *secured) of(ctx context.Context) *engine.Views {
	if engine.AccountFrom(ctx).ID == "ann@local" {
		return nil
	}
	return s.views
}

func (s *secured) View(ctx context.Context, c *engine.Class) (*engine.Class, error) {
	return s.of(ctx).Of(c), nil
}

func (s *secured) Allow(ctx context.Context, _ *engine.Class, p engine.Permission) error {
	if s.of(ctx) != nil && s.may&p == 0 {
		return engine.Denied()
	}
	return nil
}

// show returns an item in the view of the account.
func (s *secured) show(ctx context.Context, it *engine.Item, err error) (*engine.Item, error) {
	if err != nil {
		return nil, err
	}
	shown := it.Clone()
	shown.Class = s.of(ctx).Of(it.Class.Base())
	for i, p := range shown.Class.Properties {
		if shown.Class.Hides(p) {
			shown.Values[i] = nil
		}
	}
	return shown, nil
}

func (s *secured) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	it, err := s.memory.Get(ctx, c.Base(), id, load...)
	return s.show(ctx, it, err)
}

func (s *secured) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	return s.memory.List(ctx, q, func(it *engine.Item) error {
		shown, _ := s.show(ctx, it, nil)
		return visit(shown)
	})
}

func (s *secured) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	it, err := s.memory.Create(ctx, c.Base(), v, o)
	return s.show(ctx, it, err)
}

func (s *secured) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	it, err := s.memory.Update(ctx, c.Base(), id, v, o)
	return s.show(ctx, it, err)
}

// secure returns the repository for services, which hides attributes.
func (a *app) secure() *secured {
	s := newSecured(a.repo)
	a.data = s
	return s
}

// TestHiddenInScripts checks that an attribute that is hidden from the account
// looks like a missing one, separately for each account on the same VM.
func TestHiddenInScripts(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.secure()
	a.repo.fill(t, 2)
	const caught = "try { %s } catch (e) { return [e.code, e.message, e.class, e.attribute] }; return 'nothing thrown'"
	for _, expression := range []string{
		`await dataRepo.getList('note@demo', {filter: {NAME: 'note 0'}})`, `await dataRepo.getList('note', {filter: {not: [{like: ['$NAME', 'n']}]}})`, `await dataRepo.getCount('note', {filter: {eq: ['$NAME', '$NAME']}})`,
		`await dataRepo.getList('note', {sort: {NAME: 1}})`, `await dataRepo.getIterator('note', {sort: {NAME: 1}})`, `await dataRepo.getList('note', {forceEnrichment: ['NAME']})`,
		`await dataRepo.aggregate('note', {fields: {x: '$NAME'}})`, `await dataRepo.bulkDelete('note', {filter: {NAME: 1}})`, `await dataRepo.bulkEdit('note', {n: 1}, {filter: {NAME: 1}})`,
		`(await dataRepo.getItem('note', 'g1')).set('NAME', 1)`, `await dataRepo.getAssociationsList(await dataRepo.getItem('note', 'g1'), 'NAME')`, `await dataRepo.put(await dataRepo.getItem('note', 'g1'), 'NAME', [])`,
		`return (await dataRepo.getItem('note', 'g1')).get('NAME')`, `return (await dataRepo.getItem('note', 'g1')).property('NAME')`, `return Object.keys((await dataRepo.getItem('note', 'g1')).getProperties())`,
		`return [await dataRepo.getItem('note', 'g1'), String(await dataRepo.getItem('note', 'g1'))]`, `return (await dataRepo.getItem('note', 'g1')).toJSON()`, `return (await dataRepo.getItem('note', 'g1')).base`,
		`return 'NAME' in (await dataRepo.getItem('note', 'g1')).getProperties()`, `return await dataRepo.getList('note')`, `return dataRepo.wrap('note', {id: 'w', NAME: 'x'})`,
		`const m = metaRepo.getMeta('note'); return [m.getPropertyMeta('NAME'), m.getPropertyMetas(), Object.keys(m.propertyMetas), m.plain, m.getSemanticAttrs()]`, `return metaRepo.listMeta()[0].plain`, `return metaRepo.propertyMetas('note')`,
		`return (await dataRepo.getItem('note', 'g1')).getMetaClass().plain`, `return (await dataRepo.getItem('note', 'g1')).property('n').meta.name`,
	} {
		run := func(account, name string) string {
			return strings.ReplaceAll(a.as(account, fmt.Sprintf(caught, strings.ReplaceAll(expression, "NAME", name))), name, "NAME")
		}
		hidden, unknown, shown := run("bob@local", "title"), run("bob@local", "absnt"), run("ann@local", "title")
		if hidden != unknown || strings.Contains(hidden, "note 0") {
			t.Errorf("%s:\nhidden  %s\nunknown %s", expression, hidden, unknown)
		}
		if shown == hidden && !strings.Contains(expression, "forceEnrichment") && !strings.Contains(expression, "ssociation") && !strings.Contains(expression, ".put") && !strings.Contains(expression, "'n').meta") {
			t.Errorf("%s does not distinguish the accounts: %s", expression, shown)
		}
	}
}

// TestHiddenSurvivesWrites checks that writing an item does not change the
// attributes that are hidden in its view. It also checks that values of another
// account's item are used as conditions only if they are not hidden from this
// account.
func TestHiddenSurvivesWrites(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.secure()
	a.opts = service.Options{"open": a.repo}
	a.repo.fill(t, 1)
	expect(t, a.as("bob@local", `const i = await dataRepo.getItem('note', 'g1'); i.set('n', 5); return (await dataRepo.saveItem('note', 'g1', i)).get('n')`), `5`)
	expect(t, a.as("bob@local", `const i = await dataRepo.getItem('note', 'g1'); i.set('n', 6); return (await options.open.saveItem('note', 'g1', i)).get('title')`), `"note 0"`)
	expect(t, a.as("bob@local", `const i = await options.open.getItem('note', 'g1'); i.set('title', 'guess'); return [i.get('title'), (await dataRepo.getList(i)).map(i => [i.id, i.get('title')])]`), `["guess",[["g1",null]]]`)
	expect(t, a.as("bob@local", `const i = await options.open.getItem('note', 'g1'); return (await dataRepo.editItem('note', 'g1', {n: 7, title: 'x'})).getProperties().title === undefined && i.get('title')`), `"note 0"`)
	expect(t, a.as("ann@local", `return (await dataRepo.getItem('note', 'g1')).get('title')`), `"note 0"`)
}

// TestMetaRepoShowsViews checks that metaRepo returns views for the account,
// unless the service has a repository without permission checks.
func TestMetaRepoShowsViews(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	s := a.secure()
	const names = `return metaRepo.getMeta('note').getPropertyMetas().map(p => p.name).join()`
	for what, c := range map[string]struct {
		options service.Options
		account string
		want    string
	}{
		"secured by default":   {nil, "bob@local", `"id,n,price,at,done,secret"`},
		"written out":          {service.Options{"dataRepo": s}, "bob@local", `"id,n,price,at,done,secret"`},
		"unsecured":            {service.Options{"dataRepo": a.repo}, "bob@local", `"id,title,n,price,at,done,secret"`},
		"who knows everything": {nil, "ann@local", `"id,title,n,price,at,done,secret"`},
	} {
		a.opts = c.options
		if got := a.as(c.account, names); got != c.want {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// TestDeniedInScripts checks that a denied operation rejects its promise with
// the code 403 before the data is checked. If the script does not catch the
// error, the response has that status.
func TestDeniedInScripts(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	s := a.secure()
	a.repo.fill(t, 1)
	for _, c := range []struct {
		takes engine.Permission
		call  string
	}{
		{engine.MayUse, `dataRepo.createItem('note', {n: {}})`}, {engine.MayWrite, `dataRepo.editItem('note', 'g1', {n: {}})`},
		{engine.MayWrite, `dataRepo.bulkEdit('note', {n: {}}, {})`}, {engine.MayUse | engine.MayWrite, `dataRepo.saveItem('note', 'g1', {n: {}})`},
		{engine.MayDelete, `dataRepo.bulkDelete('note', {filter: {n: {$or: 1}}})`},
	} {
		s.may = engine.MayAll &^ c.takes &^ 16
		expect(t, a.as("bob@local", `try { await `+c.call+` } catch (e) { return [e.code, e.message] }`), `[403,"the account may not do this"]`)
		expect(t, a.as("bob@local", `await `+c.call), "403 text/plain; charset=utf-8 the account may not do this")
		s.may = c.takes
		expect(t, a.as("bob@local", `try { await `+c.call+` } catch (e) { return ['type', 'filter'].includes(e.code) }`), `true`)
	}
}

// TestSystemClassesInScripts checks that scripts cannot use system classes,
// with any notation of the name.
func TestSystemClassesInScripts(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.opts = service.Options{"open": a.repo}
	for _, name := range []string{"#account", "#token@", "@#role", "#session", "#policy"} {
		for _, call := range []string{"dataRepo.getList(N)", "options.open.getList(N)", "dataRepo.getItem(N, 'x')", "dataRepo.getCount(N)", "dataRepo.aggregate(N, {aggregates: {n: {count: []}}})", "dataRepo.createItem(N, {})",
			"dataRepo.editItem(N, 'x', {})", "dataRepo.saveItem(N, 'x', {})", "dataRepo.deleteItem(N, 'x')", "dataRepo.bulkEdit(N, {}, {})", "dataRepo.bulkDelete(N, {})", "dataRepo.getIterator(N)", "dataRepo.wrap(N, {})",
			"metaRepo.getMeta(N)", "metaRepo.getMeta(N, null, '')", "metaRepo.ancestor(N)", "metaRepo.propertyMetas(N)", "metaRepo.listMeta(N)"} {
			expect(t, a.as("bob@local", "try { return await "+strings.ReplaceAll(call, "N", `'`+name+`'`)+" } catch (e) { return e.code }"), `"unknown-class"`)
		}
	}
}

func TestUser(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	bob := &engine.Account{ID: "bob@local", Name: "Bob", Roles: []string{"clerk"}, Coactors: []string{"unit-7"},
		Properties: engine.Fields{{Name: "unit", Value: engine.Fields{{Name: "n", Value: int64(7)}}}, {Name: "tags", Value: []any{"a"}}}}
	g := a.load(`module.exports = {'GET /': (req) => { const u = req.user; return [u.id(), u.name(), u.coactors(), u.properties(),
		['bob@local', 'clerk', 'unit-7', '*', 'else', 7, null].map(s => u.isMe(s)), Object.keys(u), JSON.stringify(u)] }}`)
	expect(t, answer(send(t, g, request{account: bob})), jsonType+`["bob@local","Bob",["clerk","unit-7"],{"unit":{"n":7},"tags":["a"]},[true,true,true,false,false,false,false],[],"{}"]`)
}

// signIn is a service.Accounts whose methods must not be called.
type signIn struct{ service.Accounts }

// TestAuthGetUser checks IONDV's auth.getUser(req).
func TestAuthGetUser(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.opts = service.Options{"auth": service.Auth{Accounts: signIn{}}}
	g := a.load(`const auth = options.auth; module.exports = {'GET /': (req) => [auth.getUser(req).id(), auth.getUser(req).isMe('clerk'), Object.keys(auth)]}`)
	expect(t, answer(send(t, g, request{account: &engine.Account{ID: "bob@local", Roles: []string{"clerk"}}})), jsonType+`["bob@local",true,[]]`)
	g = a.load(`module.exports = {'GET /': (req) => { try { options.auth.getUser({user: 1}) } catch (e) { return e.message } }}`)
	expect(t, answer(send(t, g, request{})), jsonType+`"this method must be called on the request"`)
}

// rights implements engine.Access and engine.Policy with grants.
type rights struct{ *engine.Grants }

func (r rights) Check(_ context.Context, a *engine.Account, resource string, p engine.Permission) (bool, error) {
	held := r.On(resource, a.Subjects()...) | r.On(engine.Everything, a.Subjects()...)
	return held.Has(p), nil
}

type policy struct{ rights }

func (p policy) Grants(context.Context) (*engine.Grants, error) { return p.rights.Grants, nil }

// TestACLProvider checks IONDV's AclProvider with the permissions of the
// account.
func TestACLProvider(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	grants := rights{engine.NewGrants(1, []engine.Grant{
		{Subject: "clerk", Resource: "c:::note@demo", Permission: engine.MayRead}, {Subject: "bob@local", Resource: "ws:::print", Permission: engine.MayUse},
		{Subject: "boss", Resource: "*", Permission: engine.MayAll}, {Subject: "*", Resource: "help", Permission: engine.MayRead}}, nil)}
	a.opts = service.Options{"acl": policy{grants}, "plain": grants}
	bob := &engine.Account{ID: "bob@local", Roles: []string{"clerk"}}
	for _, c := range []struct{ expression, want string }{
		{`acl.checkAccess(req.user, 'ws:::print', 'use')`, `true`}, {`acl.checkAccess(req.user, 'ws:::print', ['read', 'use'])`, `true`}, {`acl.checkAccess(req.user, 'ws:::print', ['read', 'full'])`, `false`},
		{`acl.checkAccess(req.user, 'c:::note@demo', 'read')`, `true`}, {`acl.checkAccess(req.user, 'help', 'read')`, `true`}, {`acl.checkAccess(req.user, 'nothing', [])`, `false`},
		{`options.plain.checkAccess(req.user, 'ws:::print', 'use')`, `true`}, {`typeof options.plain.getPermissions`, `"undefined"`},
		{`acl.checkAccess('bob@local', 'help', 'read')`, `["argument","checkAccess takes the user of a request such as req.user, found \"bob@local\""]`},
		{`acl.checkAccess({id: () => 'bob@local'}, 'help', 'read')`, `["argument","checkAccess takes the user of a request such as req.user, found an object (Object)"]`},
		{`acl.checkAccess(req.user, 'help', 'see')`, `["permission","there is no permission \"see\""]`}, {`acl.checkAccess(req.user, null, 'read')`, `["argument","checkAccess takes the name of a resource such as c:::class@namespace, found null"]`},
		{`acl.getPermissions(req.user, ['c:::note@demo', 'ws:::print', 'help', 'none'])`, `{"c:::note@demo":{"read":true},"ws:::print":{"use":true},"help":{"read":true}}`},
		{`acl.getPermissions(req.user, 'help', true)`, `{}`}, {`acl.getPermissions('boss', 'none')`, `{"none":{"read":true,"write":true,"delete":true,"use":true,"full":true}}`}, {`acl.getPermissions('boss', 'none', true)`, `{}`},
		{`acl.getPermissions(['clerk', req.user], ['ws:::print', 'c:::note@demo'], true)`, `{"ws:::print":{"use":true},"c:::note@demo":{"read":true}}`}, {`acl.getPermissions([7], 'x')`, `["argument","getPermissions takes text or an array of texts, found 7"]`},
	} {
		g := a.load(`const acl = options.acl; module.exports = {'GET /': async (req) => { try { return await ` + c.expression + ` } catch (e) { return [e.code, e.message] } }}`)
		if got := strings.TrimPrefix(answer(send(t, g, request{account: bob})), jsonType); got != c.want {
			t.Errorf("%s: %s", c.expression, got)
		}
		g.Close()
	}
}
