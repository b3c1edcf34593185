// feature: Error.cause
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const inner = new Error('inner'), e = new TypeError('outer', { cause: inner });
  is([e.cause === inner, 'cause' in new Error('x'), new Error('x', { cause: undefined }).hasOwnProperty('cause')], [true, false, true]);
  is(Object.keys(e), []);
});
