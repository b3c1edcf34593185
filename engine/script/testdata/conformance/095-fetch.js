// feature: fetch: requests, answers, headers
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }, { query: { server } }) => {
  const r = await fetch(server + '/json', { headers: { 'X-Probe': 'yes' } });
  is([r.ok, r.status, r.headers.get('content-type'), r.url === server + '/json'], [true, 200, 'application/json', true]);
  is(await r.json(), { method: 'GET', probe: 'yes', body: '' });
  await rejects(r.json(), 'TypeError', 'a body is read once');
  const posted = await fetch(new URL('/json', server), { method: 'POST', body: JSON.stringify({ a: 'Ж' }), headers: new Headers([['x-probe', 'post']]) });
  is(await posted.json(), { method: 'POST', probe: 'post', body: '{"a":"Ж"}' });
  const missing = await fetch(server + '/missing');
  is([missing.ok, missing.status, await missing.text()], [false, 404, 'nothing here\n']);
  is(new Uint8Array(await (await fetch(server + '/bytes')).arrayBuffer()), new Uint8Array([0, 255, 1]));
});
