// feature: toSorted, toReversed, toSpliced and with of arrays
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const a = [3, 1, 2];
  is([a.toSorted(), a.toReversed(), a.toSpliced(1, 1, 8, 9), a.with(-1, 7), a], [[1, 2, 3], [2, 1, 3], [3, 8, 9, 2], [3, 1, 7], [3, 1, 2]]);
  is(a.toSorted((x, y) => y - x), [3, 2, 1]);
  throws(() => a.with(5, 1), 'RangeError');
  is(new Uint8Array([2, 1]).toSorted(), new Uint8Array([1, 2]));
});
