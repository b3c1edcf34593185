// feature: async generators
// group: language
const { probe } = require('./check.js');

async function* count(n) {
  for (let i = 0; i < n; i++) { await null; yield i; }
}

module.exports = probe(async ({ is }) => {
  const it = count(2);
  is(await it.next(), { value: 0, done: false });
  is([await it.next(), await it.next()], [{ value: 1, done: false }, { value: undefined, done: true }]);
  async function* all() { yield* count(2); yield Promise.resolve(9); }
  const got = [];
  for await (const v of all()) got.push(v);
  is(got, [0, 1, 9]);
  const o = { async *list() { yield 1; } };
  is(typeof o.list()[Symbol.asyncIterator], 'function');
  const closed = count(5);
  is([await closed.return(7), await closed.next()], [{ value: 7, done: true }, { value: undefined, done: true }]);
});
