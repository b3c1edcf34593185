// feature: Iterator.from and the class Iterator
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  let n = 0;
  const it = Iterator.from({ next: () => ({ value: n, done: n++ > 2 }) });
  is([it instanceof Iterator, it.map((x) => x + 1).toArray()], [true, [1, 2, 3]]);
  is(Iterator.from([5]).toArray(), [5]);
  class Mine extends Iterator { next() { return { value: 1, done: true }; } }
  is([new Mine().toArray(), (function* () {})() instanceof Iterator], [[], true]);
  throws(() => new Iterator(), 'TypeError');
});
