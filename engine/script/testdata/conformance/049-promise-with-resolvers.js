// feature: Promise.withResolvers
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  const { promise, resolve, reject } = Promise.withResolvers();
  resolve(4);
  is([await promise, typeof reject], [4, 'function']);
  class P extends Promise {}
  is(P.withResolvers().promise instanceof P, true);
});
