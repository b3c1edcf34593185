// feature: Set methods: union, intersection, difference ...
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const a = new Set([1, 2, 3]), b = new Set([3, 4]);
  is([a.union(b), a.intersection(b), a.difference(b), a.symmetricDifference(b)],
    [new Set([1, 2, 3, 4]), new Set([3]), new Set([1, 2]), new Set([1, 2, 4])]);
  is([new Set([3]).isSubsetOf(a), a.isSupersetOf(new Set([1])), a.isDisjointFrom(b)], [true, true, false]);
});
