package script

import (
	"strconv"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// TestAncestorModules requires each module of IONDV by its names and uses it.
func TestAncestorModules(t *testing.T) {
	probes := map[string]string{
		"core/IonError":                `new m('a.b', {}) instanceof Error && new m(404).message === 404`,
		"@iondv/core":                  `m.IonError === require('core/IonError') && m.utils.strings === require('core/strings')`,
		"@iondv/core/classes/IonError": `m === require('core/IonError')`,
		"@iondv/core/IonError.js":      `m === require('core/IonError')`,
		"core/strings":                 `m.s('none', 'id', {}) === 'id'`,
		"core/i18n":                    `m.t('text') === 'text' && m.t('one', 'many', 3) === 'many' && m.w('text')({}) === 'text'`,
		"@iondv/i18n":                  `m.t === require('core/i18n').t`,
		"core/FunctionCodes":           `m.EQUAL === 'eq' && m.GREATER_OR_EQUAL === 'gte'`,
		"core/PropertyTypes":           `m.REFERENCE === 13 && m.FILE_LIST === 110`,
		"core/Permissions":             `m.USE === 'use' && m.fromBitMask(31).full && m.fromBitMask(9, true).join() === 'read,use'`,
		"@iondv/acl-contracts":         `m.Permissions.FULL === 'full'`,
		"@iondv/auth-contracts":        `m.UserTypes.SYSTEM === 'system'`,
		"@iondv/meta-model-contracts":  `m.FunctionCodes.AND === 'and' && m.util.normalize === require('core/util/normalize')`,
		"@iondv/meta-model-contracts/lib/PropertyTypes": `m.GUID === 12`,
		"@iondv/meta-model":                             `m.data.utils === require('core/interfaces/DataRepository/lib/util')`,
		"@iondv/meta-model/lib/errors/data-repo":        `m.PERMISSION_LACK === 'data-repo.noperm'`,
		"@iondv/web/lib/errors/front-end":               `m.ACCESS_DENIED === 'front-end.403'`,
		"@iondv/commons/lib/errors/file-storage":        `m.NO_FILE === 'file-storage.nf'`,
		"core/errors/auth":                              `m.FORBID === 'auth.forbid'`,
		"core/errors/conditions":                        `m.NO_ARGS === 'conditions.no_args'`,
		"core/errors/data-repo":                         `m.ITEM_NOT_FOUND === 'data-repo.inf'`,
		"core/errors/data-source":                       `m.BAD_QUERY === 'data-source.bq'`,
		"core/errors/file-storage":                      `m.BAD_DATA === 'file-storage.bd'`,
		"core/errors/front-end":                         `m.ACCESS_DENIED === 'front-end.403'`,
		"core/errors/meta-repo":                         `m.NO_CLASS === 'meta-repo.nc'`,
		"core/errors/validation":                        `m.INCORRECT_VALUE.INT === 'validation.iv.int'`,
		"core/errors/workflow":                          `m.ACCESS_DENIED === 'workflow.iw' && m.TRANS_IMPOSSIBLE === 'workflow.ti'`,
		"modules/rest/errors/backend-errors":            `m.HTTP_404 === 'rest.backend.404'`,
		"modules/rest/lib/interfaces/Service":           `typeof m.prototype.addHandler === 'function'`,
		"@iondv/rest/lib/interfaces/Service":            `m === require('modules/rest/lib/interfaces/Service')`,
		"@iondv/rest/backend/util":                      `typeof m.prepareUpdates === 'function' && m === require('modules/rest/backend/util')`,
		"@iondv/rest/backend/multipart":                 `typeof m === 'function'`,
		"core/util/normalize":                           `m(7) === null && m([{}])[0] === null`,
		"core/interfaces/DataRepository":                `!({} instanceof m.Item)`,
		"core/interfaces/DataRepository/lib/util":       `JSON.stringify(m.dataToFilter({a: 1})) === '{"and":[{"eq":["$a",1]}]}'`,
		"core/User":                  `!({} instanceof m)`,
		"core/impl/meta/keyProvider": `new m().keyData({getKeyProperties: () => ['a']}, {a: 1, b: 2}).a === 1`,
		"clone":                      `(() => { const a = {d: new Date(5), l: [1, {x: 1}], m: new Map([[1, {y: 2}]])}; a.self = a; const c = m(a); return c !== a && c.self === c && c.l[1] !== a.l[1] && c.d.getTime() === 5 && c.d !== a.d && c.m.get(1) !== a.m.get(1) && m({a: {b: 1}}, true, 1).a !== undefined; })()`,
		"merge":                      `(() => { const a = {x: {y: 1}}; const c = m(true, a); c.x.y = 2; return a.x.y === 1 && m.recursive(true, {a: {b: 1}}, {a: {c: 2}}).a.b === 1 && m(a, {z: 1}) === a && a.z === 1 && m.recursive(true, {}, JSON.parse('{"__proto__": {"bad": 1}}')).bad === undefined; })()`,
		"is-base64":                  `m('YWJj') && !m('YWJ') && m('') && !m('', {allowEmpty: false}) && m('data:image/png;base64,YWJj', {mime: true}) && !m(7)`,
		"@iondv/meta-model-contracts/lib/data/DataRepository": `m === require('core/interfaces/DataRepository')`,
	}
	a := newApp(t, limits.Limits{}, false)
	for name, probe := range probes {
		t.Run(name, func(t *testing.T) {
			g := a.load(`const m = require(` + strconv.Quote(name) + `); module.exports = {'GET /': () => (` + probe + `) ? 'right' : 'wrong'};`)
			defer g.Close()
			expect(t, get(t, g), jsonType+`"right"`)
		})
	}
}

// TestAncestorBaseOnly: _initialization is called only in services that are based on IONDV's Service class.
func TestAncestorBaseOnly(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`const {Service} = require('restsrv');
		module.exports = class extends Service {
			_initialization() { this.initialized = true; }
			_route(router) { this.addHandler(router, '/', 'GET', () => String(this.initialized)); }
		};`)
	defer g.Close()
	expect(t, get(t, g), jsonType+`"undefined"`)
}

// TestLackingComponent: a component that restsrv does not have throws when it is used. Until then it can be passed
// on.
func TestLackingComponent(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.opts = service.Options{"mail": service.Lacking("notifier")}
	g := a.load(`module.exports = {'GET /': async () => {
		const mail = await options.mail;
		try { return mail.send('x'); } catch (e) { return e.message; }
	}};`)
	defer g.Close()
	expect(t, get(t, g), jsonType+`"there is no ion://notifier in restsrv: notifier.send cannot be used"`)
	if !strings.Contains(a.log.String(), "names ion://notifier") {
		t.Errorf("the log does not report the missing component:\n%s", a.log)
	}
}
