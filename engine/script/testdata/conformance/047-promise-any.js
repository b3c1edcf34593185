// feature: Promise.any
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }) => {
  is(await Promise.any([Promise.reject(1), Promise.resolve(2), 3]), 2);
  await rejects(Promise.any([Promise.reject(1), Promise.reject(2)]), 'AggregateError');
  const errors = await Promise.any([Promise.reject(1)]).catch((e) => e.errors);
  is(errors, [1]);
});
