// feature: AbortController and AbortSignal
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, throws }) => {
  const c = new AbortController(), seen = [];
  c.signal.addEventListener('abort', (e) => seen.push(e.type));
  c.signal.onabort = () => seen.push('on');
  c.abort(new Error('why')); c.abort();
  is([seen, c.signal.aborted, c.signal.reason.message], [['abort', 'on'], true, 'why']);
  throws(() => c.signal.throwIfAborted(), 'Error');
  is([AbortSignal.abort().reason.name, AbortSignal.any([c.signal]).aborted], ['AbortError', true]);
  const t = AbortSignal.timeout(1);
  await new Promise((done) => t.addEventListener('abort', done));
  is(t.reason.name, 'TimeoutError');
});
