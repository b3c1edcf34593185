// feature: await using
// group: language
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  const log = [];
  const open = (name) => ({ async [Symbol.asyncDispose]() { await null; log.push('close ' + name); } });
  {
    await using a = open('a');
    await using b = open('b');
    log.push(typeof a + typeof b);
  }
  is(log, ['objectobject', 'close b', 'close a']);
});
