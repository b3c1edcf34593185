// feature: destructuring, spread, defaults and rest
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const { a, b: { c = 3, ...others }, ...rest } = { a: 1, b: { d: 4, e: 5 }, f: 6 };
  is([a, c, others, rest], [1, 3, { d: 4, e: 5 }, { f: 6 }]);
  const [x, , y = 9, ...z] = [1, 2, undefined, 4, 5];
  is([x, y, z], [1, 9, [4, 5]]);
  const f = ({ n = 1 } = {}, ...more) => [n, more.length];
  is([f(), f({ n: 2 }, 1, 2)], [[1, 0], [2, 2]]);
  is({ ...{ p: 1 }, ...null, q: 2 }, { p: 1, q: 2 });
  is(Math.max(...new Set([3, 8, 5])), 8);
  let m = 1, n = 2;
  [m, n] = [n, m];
  is([m, n], [2, 1]);
});
