// feature: util: promisify, callbackify, inherits, types, isDeepStrictEqual
// group: module
const { probe } = require('./check.js');

const util = require('node:util');

module.exports = probe(async ({ is, rejects }) => {
  const add = util.promisify((a, b, done) => setTimeout(() => done(a < 0 ? new RangeError('neg') : null, a + b), 1));
  is(await add(1, 2), 3);
  await rejects(add(-1, 2), 'RangeError');
  is(await new Promise((ok) => util.callbackify(async (x) => x * 2)(4, (err, v) => ok([err, v]))), [null, 8]);
  function A() {} function B() {} B.prototype.b = 1;
  util.inherits(A, B);
  is([new A().b, A.super_ === B], [1, true]);
  is([util.types.isDate(new Date()), util.types.isPromise({}), util.types.isRegExp(/x/), util.isArray([])], [true, false, true, true]);
  is([util.isDeepStrictEqual({ a: [1, new Set([2])] }, { a: [1, new Set([2])] }), util.isDeepStrictEqual([1], ['1'])], [true, false]);
});
