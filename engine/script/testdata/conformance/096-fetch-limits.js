// feature: fetch: signals, refused hosts
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }, { query: { server } }) => {
  const c = new AbortController();
  setTimeout(() => c.abort(), 5);
  await rejects(fetch(server + '/slow', { signal: c.signal }), 'AbortError');
  await rejects(fetch(server + '/slow', { signal: AbortSignal.timeout(5) }), 'TimeoutError');
  await rejects(fetch('http://not-in-the-list.example/'), 'TypeError');
  await rejects(fetch('file:///etc/passwd'), 'TypeError');
  await rejects(fetch('not a url'), 'TypeError');
});
