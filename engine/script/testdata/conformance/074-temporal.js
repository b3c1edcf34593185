// feature: Temporal
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is(Temporal.PlainDate.from('2024-01-31').add({ months: 1 }).toString(), '2024-02-29');
  is(Temporal.Instant.from('2024-01-01T00:00Z').epochMilliseconds, 1704067200000);
});
