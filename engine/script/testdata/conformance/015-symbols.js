// feature: Symbol, its well-known symbols, iteration protocols
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const s = Symbol('d');
  is([s.description, typeof s, Symbol.for('x') === Symbol.for('x'), Symbol.keyFor(Symbol.for('x'))], ['d', 'symbol', true, 'x']);
  class Even { static [Symbol.hasInstance](n) { return n % 2 === 0; } }
  is([2 instanceof Even, 3 instanceof Even], [true, false]);
  is(`${{ [Symbol.toPrimitive]: (hint) => hint }}`, 'string');
  is(Object.prototype.toString.call({ [Symbol.toStringTag]: 'T' }), '[object T]');
  let closed = 0;
  const it = { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }), return() { closed++; return {}; } }) };
  for (const v of it) if (v) break;
  const [first] = it;
  is([first, closed], [1, 2]);
  throws(() => s + '', 'TypeError');
});
