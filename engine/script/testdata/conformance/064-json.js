// feature: JSON: reviver, replacer, toJSON, indentation
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is(JSON.parse('{"a":[1,{"b":2}]}', (k, v) => (k === 'b' ? v * 2 : v)), { a: [1, { b: 4 }] });
  is(JSON.stringify({ a: 1, b: [undefined, () => 1, NaN], c: undefined, d: new Date(0) }), '{"a":1,"b":[null,null,null],"d":"1970-01-01T00:00:00.000Z"}');
  is(JSON.stringify({ a: 1, b: { c: 2, a: 3 } }, ['b', 'a']), '{"b":{"a":3},"a":1}');
  is(JSON.stringify({ a: [1] }, null, 2), '{\n  "a": [\n    1\n  ]\n}');
  const cycle = {}; cycle.me = cycle;
  throws(() => JSON.stringify(cycle), 'TypeError');
  throws(() => JSON.parse('{a:1}'), 'SyntaxError');
});
