// feature: Number.toLocaleString
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([(1234.5).toLocaleString('en-US'), (1234567.891).toLocaleString('ru-RU'), (1234.5).toLocaleString('de')], ['1,234.5', '1\u00a0234\u00a0567,891', '1.234,5']);
  is((0.256).toLocaleString('en-US', { style: 'percent', maximumFractionDigits: 1 }), '25.6%');
  is((12345678901234567890n).toLocaleString('en-US'), '12,345,678,901,234,567,890');
  is([(1234).toLocaleString('en-US', { useGrouping: false }), NaN.toLocaleString('en-US'), (5).toLocaleString('en-US', { minimumFractionDigits: 2 })], ['1234', 'NaN', '5.00']);
  throws(() => (1).toLocaleString('en-US', { style: 'nonsense' }), 'RangeError');
});
