// feature: iterator helpers: map, filter, take, drop, flatMap, reduce ...
// group: built-in
const { probe } = require('./check.js');

function* numbers() { for (let i = 1; ; i++) yield i; }

module.exports = probe(({ is, throws }) => {
  is(numbers().filter((n) => n % 2).map((n) => n * 10).drop(1).take(3).toArray(), [30, 50, 70]);
  is([1, 2].values().flatMap((n) => [n, n]).toArray(), [1, 1, 2, 2]);
  is(new Set([1, 2, 3]).values().reduce((a, b) => a + b), 6);
  is([numbers().some((n) => n > 5), numbers().take(3).every((n) => n < 3), numbers().find((n) => n > 7)], [true, false, 8]);
  const seen = [];
  new Map([['k', 1]]).entries().forEach(([k, v]) => seen.push(k + v));
  is(seen, ['k1']);
  let closed = 0;
  const it = { __proto__: Iterator.prototype, next: () => ({ value: 1, done: false }), return() { closed++; return {}; } };
  is([it.take(2).toArray(), closed], [[1, 1], 1]);
  throws(() => numbers().take(-1), 'RangeError');
  throws(() => numbers().map(1), 'TypeError');
  is([...numbers().take(2)], [1, 2]);
});
