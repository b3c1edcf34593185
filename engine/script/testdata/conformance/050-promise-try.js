// feature: Promise.try
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }) => {
  is(await Promise.try((a, b) => a + b, 1, 2), 3);
  await rejects(Promise.try(() => { throw new RangeError('x'); }), 'RangeError');
  is(await Promise.try(async () => 5), 5);
});
