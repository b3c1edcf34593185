// feature: WeakMap and WeakSet
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const k = {}, m = new WeakMap([[k, 1]]), s = new WeakSet([k]);
  is([m.get(k), m.has({}), s.has(k), m.delete(k), m.has(k)], [1, false, true, true, false]);
  throws(() => m.set(1, 1), 'TypeError');
});
