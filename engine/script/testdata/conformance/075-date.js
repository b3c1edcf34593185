// feature: Date: parsing, UTC, arithmetic, toISOString
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([new Date('2024-02-29').getTime(), Date.parse('2024-02-29T10:20:30.5+03:00'), Date.UTC(2024, 0)], [1709164800000, 1709191230500, 1704067200000]);
  is(new Date(2024, 0, 31, 10).getHours(), 10);
  const d = new Date(0); d.setUTCMonth(13);
  is(d.toISOString(), '1971-02-01T00:00:00.000Z');
  is([String(new Date(NaN)), new Date(8.64e15 + 1).getTime()], ['Invalid Date', NaN]);
  throws(() => new Date(NaN).toISOString(), 'RangeError');
  is(isNaN(Date.parse('nonsense')), true);
});
