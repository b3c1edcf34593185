// feature: Reflect
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  class A { constructor(x) { this.x = x; } }
  const o = Reflect.construct(A, [3]);
  is([o.x, Reflect.has(o, 'x'), Reflect.ownKeys({ b: 1, [Symbol.iterator]: 2, 1: 1 }).length], [3, true, 3]);
  is(Reflect.apply(Math.max, null, [1, 5]), 5);
  is([Reflect.defineProperty(Object.freeze({}), 'x', { value: 1 }), Reflect.getPrototypeOf(o) === A.prototype], [false, true]);
  is(Reflect.get({ get v() { return this.w; } }, 'v', { w: 7 }), 7);
});
