// feature: for await
// group: language
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }) => {
  const got = [];
  for await (const v of [Promise.resolve(1), 2]) got.push(v);
  let closed = 0;
  const source = {
    [Symbol.asyncIterator]() {
      let n = 0;
      return { next: async () => ({ value: n++, done: false }), return: async () => { closed++; return {}; } };
    },
  };
  for await (const v of source) { if (v > 2) break; got.push(v); }
  is([got, closed], [[1, 2, 0, 1, 2], 1]);
  await rejects((async () => { for await (const v of [Promise.reject(new RangeError('x'))]) got.push(v); })(), 'RangeError');
});
