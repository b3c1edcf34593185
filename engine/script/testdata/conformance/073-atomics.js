// feature: Atomics
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const a = new Int32Array(2);
  is([Atomics.add(a, 0, 5), Atomics.load(a, 0), Atomics.compareExchange(a, 0, 5, 7), a[0], Atomics.isLockFree(4)], [0, 5, 5, 7, true]);
});
