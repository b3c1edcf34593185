// feature: RegExp: flag d (indices)
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const r = new RegExp('(?<n>b)c', 'd');
  const m = r.exec('abcd');
  is(m.indices[0], [1, 3]);
  is([m.indices[1], m.indices.groups.n, r.hasIndices], [[1, 2], [1, 2], true]);
});
