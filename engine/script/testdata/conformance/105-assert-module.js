// feature: assert
// group: module
const { probe } = require('./check.js');

const assert = require('assert');
const strict = require('assert/strict');

module.exports = probe(async ({ is, throws, ok }) => {
  assert(true); assert.ok(1); assert.equal(1, '1'); assert.deepEqual({ a: '1' }, { a: 1 }); assert.deepStrictEqual([1, { b: new Date(1) }], [1, { b: new Date(1) }]);
  assert.notStrictEqual(1, '1'); assert.match('abc', /b/); assert.throws(() => { throw new TypeError('bad x'); }, /bad/);
  throws(() => assert.strictEqual(1, '1'), 'AssertionError');
  throws(() => assert.deepStrictEqual([1], ['1']), 'AssertionError');
  throws(() => strict.equal(1, '1'), 'AssertionError');
  throws(() => assert.throws(() => {}), 'AssertionError');
  throws(() => assert.fail('no'), 'AssertionError');
  await assert.rejects(Promise.reject(new Error('x')), { message: 'x' });
  try { assert.deepStrictEqual({ a: 1, b: 2 }, { a: 1, b: 3 }); } catch (e) {
    is([e.code, e.operator, e instanceof Error], ['ERR_ASSERTION', 'deepStrictEqual', true]);
    ok(e.message.includes('+   b: 2') && e.message.includes('-   b: 3'), e.message);
  }
});
