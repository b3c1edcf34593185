// feature: Array.fromAsync
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  is(await Array.fromAsync([Promise.resolve(1), 2], async (n) => n * 2), [2, 4]);
  const source = { [Symbol.asyncIterator]() { let n = 0; return { next: async () => ({ value: n, done: n++ === 3 }) }; } };
  is(await Array.fromAsync(source), [0, 1, 2]);
  is(await Array.fromAsync({ length: 2, 0: 'a', 1: Promise.resolve('b') }), ['a', 'b']);
});
