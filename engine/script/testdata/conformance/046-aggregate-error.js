// feature: AggregateError
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const e = new AggregateError([new Error('a'), 2], 'all', { cause: 3 });
  is([e.errors.length, e.message, e.name, e instanceof Error, e.cause], [2, 'all', 'AggregateError', true, 3]);
});
