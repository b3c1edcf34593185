package main

// scripts are the measured scripts by file name. Some of them are compared with handlers of the
// floor that are written in Go.
var scripts = map[string]string{
	"hello.js": `module.exports = {
  'GET /': async (req) => ({ message: 'hello, ' + (req.query.name || 'world') })
};
`,
	"greet.js": `module.exports = {
  'GET /': (req) => ({ message: 'hello, ' + (req.query.name || 'world') })
};
`,
	"query.js": `module.exports = {
  'GET /': async (req) => dataRepo.getList('note@bench', {
    filter: { eq: ['$group', req.query.group] },
    count: 20
  })
};
`,
	"order.js": `module.exports = {
  'POST /': async (req) => {
    const { customer, lines } = req.body;
    const total = lines.reduce((sum, l) => sum + l.price * l.count, 0);
    return { customer, lines: lines.length, total };
  }
};
`,
	"usual.js": `const CLASS = 'note@bench';
const shown = (n) => ({ id: n.id, title: n.get('title'), group: n.get('group') });

module.exports = {
  'GET /': async () => ({ count: await dataRepo.getCount(CLASS) }),
  'GET /:id': async (req) => shown(await dataRepo.getItem(CLASS, req.params.id)),
  'POST /': async (req) => shown(await dataRepo.createItem(CLASS, req.body)),
  'PATCH /:id': async (req) => shown(await dataRepo.editItem(CLASS, req.params.id, req.body)),
};
`,
	"labels.js": `module.exports = {
  'GET /': async (req) => {
    const notes = await dataRepo.getList('note@bench', { filter: { eq: ['$group', req.query.group] }, count: 20 });
    return notes.map((n) => ({ id: n.id, label: n.get('title').toUpperCase(), size: n.get('body').length }));
  }
};
`,
}

const order = `{"customer":"Ada Lovelace","lines":[{"name":"paper","price":3,"count":12},{"name":"ink","price":7.5,"count":2},{"name":"blotter","price":4,"count":1}],"note":"by post, before noon if possible"}`

// scriptScenarios returns comparisons of scripts with handlers in Go that do the same. The goals
// of the scenarios are the goals of the script runtime.
func scriptScenarios() []scenario {
	against := func(name string, ratio float64, left, right *template, items int) scenario {
		return scenario{name: name, must: target{ratio: ratio}, left: left, right: right, items: items}
	}
	post := func(at string) *template { return ask("POST", path(at), "", new(template).text(order)) }
	return []scenario{
		against("script hello (floor = Go)", 1.25, get(path("bare/hello?name=Ada")), get(path("greet?name=Ada")), 0),
		against("script, JSON body, async (floor = Go)", 1.67, post("bare/order"), post("order"), 0),
		against("script, 20 rows untouched (floor = Go)", 1.54, get(group("bare/query?")), get(group("query?")), 20),
		against("script, 20 rows mapped (floor = Go)", 4, get(group("bare/labels?")), get(group("labels?")), 20),
	}
}
