// feature: Object.groupBy and Map.groupBy
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const g = Object.groupBy([1, 2, 3], (n, i) => (n % 2 ? 'odd' : 'even') + (i > 1 ? '!' : ''));
  is(g, { odd: [1], even: [2], 'odd!': [3] });
  is(Object.getPrototypeOf(g), null);
  const key = {}, m = Map.groupBy(new Set([1, 2]), () => key);
  is([m.get(key), m.size], [[1, 2], 1]);
});
