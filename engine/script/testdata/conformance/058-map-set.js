// feature: Map and Set
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const m = new Map([[NaN, 1], [0, 2]]);
  is([m.get(NaN), m.get(-0), m.size], [1, 2, 2]);
  m.delete(NaN); m.set('z', 1).set(0, 5);
  is([...m], [[0, 5], ['z', 1]]);
  const seen = [], s = new Set([1]);
  for (const v of s) { seen.push(v); if (v < 3) s.add(v + 1); }
  is(seen, [1, 2, 3]);
});
