package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine/script/platform"
)

// packages are scripts that use packages of other projects, and the expected
// responses.
var packages = map[string][2]string{
	"lodash": {`import _, {chunk} from 'lodash';
		export default {'GET /': () => [chunk([1, 2, 3], 2), _.camelCase('the long way'), _.groupBy([1.2, 1.4, 2.1], Math.floor), _.template('<%= a %>!')({a: 1})]}`,
		`[[[1,2],[3]],"theLongWay",{"1":[1.2,1.4],"2":[2.1]},"1!"]`},
	"one function of lodash": {`const debounce = require('lodash/debounce'), get = require('lodash/get.js');
		module.exports = {'GET /': () => [typeof debounce(() => 1), get({a: {b: 2}}, 'a.b')]}`, `["function",2]`},
	"moment": {`const moment = require('moment');
		module.exports = {'GET /': () => [moment.utc('2024-02-29T12:00:00Z').add(1, 'year').format('YYYY-MM-DD HH:mm'), require.resolve('moment')]}`,
		`["2025-02-28 12:00","node_modules/moment/moment.js"]`},
	"ms":   {`import ms from 'ms'; export default {'GET /': () => [ms('2 days'), ms(60000, {long: true})]}`, `[172800000,"1 minute"]`},
	"uuid": {`import {validate, version, v5} from 'uuid'; export default {'GET /': () => [validate('not'), v5('a', v5.URL), version(v5('a', v5.URL))]}`, `[false,"e1407479-3136-56c0-9908-bb02fb0339e2",5]`},
	"date-fns": {`import {addDays, format, formatDistance} from 'date-fns'; import {ru} from 'date-fns/locale/ru';
		export default {'GET /': () => [addDays(new Date(0), 1), format(new Date(2024, 1, 3), 'd MMMM yyyy', {locale: ru}), formatDistance(0, 86400000 * 3, {locale: ru})]}`,
		`["1970-01-02T00:00:00.000Z","3 февраля 2024","3 дня"]`},
	"zod": {`import {z} from 'zod';
		const Note = z.object({title: z.string().min(1), n: z.coerce.number().int().optional(), mail: z.email()});
		export default {'GET /': () => { const bad = Note.safeParse({title: '', mail: 'x'}); return [Note.parse({title: 'a', n: '5', mail: 'a@b.example'}), bad.success, bad.error!.issues.map((i) => i.path[0])] }}`,
		`[{"title":"a","n":5,"mail":"a@b.example"},false,["title","mail"]]`},
	"nanoid": {`import {customAlphabet, nanoid} from 'nanoid'; export default {'GET /': () => [nanoid().length, customAlphabet('a', 5)()]}`, `[21,"aaaaa"]`},
}

// installPackages returns an app with the packages that npm installs according to testdata/npm/package-lock.json. If
// npm or the packages are not available, the test is skipped, unless RESTSRV_TEST_NPM is "require".
func installPackages(t *testing.T) *app {
	t.Helper()
	a := startApp(t, Config{NodeModules: true})
	if err := os.CopyFS(a.dir, os.DirFS(filepath.Join("testdata", "npm"))); err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = a.dir
	if out, err := npm.CombinedOutput(); err != nil {
		if os.Getenv("RESTSRV_TEST_NPM") == "require" {
			t.Fatalf("npm ci: %v: %s", err, out)
		}
		t.Skipf("npm ci: %v: no packages of others are tested: %s", err, out)
	}
	return a
}

// TestPackages runs scripts that use packages.
func TestPackages(t *testing.T) {
	a := installPackages(t)
	for name, p := range packages {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "uuid") || strings.HasPrefix(name, "nanoid") {
				if !platform.HasModule("crypto") {
					t.Skip("there is no module crypto")
				}
			}
			a.write("svc.ts", p[0])
			a.t = t
			a.answers("svc.ts", p[1])
		})
	}
}

// TestPackagesInNode runs files of testdata/npm here and in Node.js. Each exports a function run, and the results must be
// equal.
func TestPackagesInNode(t *testing.T) {
	a := installPackages(t)
	for _, file := range []string{"jose.mjs", "jsonwebtoken.js", "stripe.js"} {
		t.Run(file, func(t *testing.T) {
			a.t = t
			node := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e",
				"const m = await import('./"+file+"'); process.stdout.write(JSON.stringify(await (m.run || m.default.run)()))")
			node.Dir = a.dir
			want, err := node.Output()
			if err != nil {
				t.Fatal("node:", err)
			}
			a.write("node.mjs", "export default {'GET /': async () => { const m = await import('./"+file+"'); return (m.run || m.default.run)() }}")
			g, err := a.rt.Load(a.service("node.mjs"))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			expect(t, get(t, g), jsonType+string(want))
		})
	}
}
