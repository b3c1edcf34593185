// feature: import() of files and built-in modules
// group: language
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }) => {
  const m = await import('./exports.mjs');
  is([m.a, m.default], [1, 'default']);
  const path = await import('node:path');
  is([path.basename('/a/b'), path.default.basename('/a/b')], ['b', 'b']);
  const p = import('./exports.mjs');
  is(p instanceof Promise, true);
  await rejects(import('./no-such-file.js'), 'Error');
});
