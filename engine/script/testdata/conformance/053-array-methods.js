// feature: arrays: flat, flatMap, includes, copyWithin, stable sort, holes
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is([[1, [2, [3]]].flat(Infinity), [1, 2].flatMap((n) => [n, n * 10])], [[1, 2, 3], [1, 10, 2, 20]]);
  is([[NaN].includes(NaN), [1, 2, 3, 4].copyWithin(0, 2), Array.of(7).length], [true, [3, 4, 3, 4], 1]);
  const sorted = Array.from({ length: 200 }, (_, i) => ({ k: i % 3, i })).sort((a, b) => a.k - b.k);
  is(sorted.every((x, i) => !i || sorted[i - 1].k < x.k || sorted[i - 1].i < x.i), true);
  is([[3, undefined, , 1].sort(), [...[, 1]], Object.keys([, 1])], [[1, 3, undefined, ,], [undefined, 1], ['1']]);
  is([[1, 2, 3].entries().next().value, [...'aб😀'].length], [[0, 1], 3]);
});
