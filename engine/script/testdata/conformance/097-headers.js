// feature: Headers, Request and Response
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, throws }) => {
  const h = new Headers({ 'X-A': '1' });
  h.append('x-a', '2'); h.set('B', 'b');
  is([h.get('X-a'), h.has('c'), [...h]], ['1, 2', false, [['b', 'b'], ['x-a', '1, 2']]]);
  throws(() => new Headers({ 'bad name': 'x' }), 'TypeError');
  const r = new Response(JSON.stringify({ a: 1 }), { status: 201, headers: h });
  is([r.status, r.headers.get('b'), await r.json()], [201, 'b', { a: 1 }]);
  const q = new Request('http://a.example/x', { method: 'post', body: 'text' });
  is([q.method, q.url, await q.text()], ['POST', 'http://a.example/x', 'text']);
});
