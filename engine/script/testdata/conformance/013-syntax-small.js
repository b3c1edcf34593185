// feature: optional catch, numeric separators, exponent, trailing commas, labels
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  let caught = false;
  try { throw 1; } catch { caught = true; }
  is([caught, 1_000_000, 0b1010, 0o17, 2 ** 10, 2 ** 3 ** 2], [true, 1000000, 10, 15, 1024, 512]);
  const f = (a, b,) => a + b;
  is(f(1, 2,), 3);
  let n = 0;
  outer: for (const i of [1, 2, 3]) for (const j of [1, 2]) { if (j === 2) continue outer; if (i === 3) break outer; n++; }
  is(n, 2);
  const key = 'k', o = { key, [key + 1]: 1, 'm'() { return 2; }, get g() { return 3; } };
  is([o.key, o.k1, o.m(), o.g], ['k', 1, 2, 3]);
});
