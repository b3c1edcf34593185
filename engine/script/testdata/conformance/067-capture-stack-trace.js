// feature: Error.captureStackTrace, stack and stackTraceLimit
// group: built-in
const { probe } = require('./check.js');

function MyError(message) {
  this.message = message;
  Error.captureStackTrace(this, MyError);
}
MyError.prototype = Object.create(Error.prototype, { name: { value: 'MyError' } });

module.exports = probe(({ is, ok }) => {
  const make = function maker() { return new MyError('m'); };
  const e = make();
  is(typeof e.stack, 'string');
  is(e.stack.split('\n')[0], 'MyError: m');
  ok(/maker/.test(e.stack.split('\n')[1]), e.stack);
  is(Object.keys(e).includes('stack'), false, 'it is not enumerable');
  is(typeof Error.stackTraceLimit, 'number');
  const o = {};
  Error.captureStackTrace(o);
  ok(/capture-stack-trace/.test(o.stack), o.stack);
  ok(/^Error: x\n/.test(new Error('x').stack), new Error('x').stack);
});
