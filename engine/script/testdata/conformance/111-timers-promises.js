// feature: timers/promises
// group: module
const { probe } = require('./check.js');

const { setTimeout: wait, setImmediate: soon, setInterval: every } = require('timers/promises');

module.exports = probe(async ({ is, rejects }) => {
  is([await wait(1, 'v'), await soon('s')], ['v', 's']);
  const c = new AbortController();
  const p = wait(10000, null, { signal: c.signal });
  c.abort();
  await rejects(p, 'AbortError');
  let n = 0;
  for await (const v of every(1, 'i')) if (v !== 'i' || ++n === 3) break;
  is(n, 3);
});
