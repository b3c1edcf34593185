// feature: findLast, findLastIndex and at
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const a = [1, 2, 3, 4];
  is([a.findLast((n) => n % 2), a.findLastIndex((n) => n > 9), a.at(-1), a.at(9)], [3, -1, 4, undefined]);
  is(['abc'.at(-1), new Uint8Array([1, 2]).at(-2)], ['c', 1]);
});
