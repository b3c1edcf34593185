// feature: structuredClone
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const o = { d: new Date(5), m: new Map([[1, new Set(['x'])]]), b: new Uint8Array([1, 2]), r: /x/gi, n: 1n, e: new RangeError('m') };
  o.me = o;
  const c = structuredClone(o);
  is([c.d, c.m, c.b, c.r, c.n], [o.d, o.m, o.b, o.r, 1n]);
  is([c.me === c, c.d === o.d, c.b.buffer === o.b.buffer, c.e instanceof RangeError, c.e.message], [true, false, false, true, 'm']);
  throws(() => structuredClone({ f() {} }), 'DataCloneError');
});
