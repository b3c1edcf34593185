// feature: console
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'table', 'dir', 'assert', 'count', 'time', 'timeEnd', 'group', 'groupEnd']) {
    is(typeof console[name], 'function', name);
  }
  is(console.log('%s is %d', 'x', 5, { a: [1] }), undefined);
  const { error } = console;
  is(error(new Error('a line of the probe')), undefined);
});
