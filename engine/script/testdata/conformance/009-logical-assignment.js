// feature: ??=, ||= and &&=
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const o = { a: null, b: 0, c: 1 };
  o.a ??= 'a'; o.b ??= 'b'; o.b ||= 'B'; o.c &&= 'C'; o.d ??= 4;
  is(o, { a: 'a', b: 'B', c: 'C', d: 4 });
  let writes = 0;
  const p = { set x(v) { writes++; }, get x() { return 1; } };
  p.x ??= 2; p.x ||= 3;
  is(writes, 0);
});
