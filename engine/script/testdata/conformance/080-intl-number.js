// feature: Intl.NumberFormat
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const f = (locale, options, n) => new Intl.NumberFormat(locale, options).format(n);
  is([f('en-US', { style: 'currency', currency: 'USD' }, 1234.5), f('de-DE', { style: 'currency', currency: 'EUR' }, 1234.5), f('ru-RU', { style: 'currency', currency: 'RUB' }, 1234.5)],
    ['$1,234.50', '1.234,50\u00a0€', '1\u00a0234,50\u00a0₽']);
  is([f('en-US', { style: 'currency', currency: 'JPY' }, 1234.5), f('en-US', { maximumFractionDigits: 1 }, 0.05), f('fr-FR', {}, 1234567.8)], ['¥1,235', '0.1', '1\u202f234\u202f567,8']);
  is(new Intl.NumberFormat('en-US').formatToParts(-1234.5).map((p) => p.type + p.value).join(' '), 'minusSign- integer1 group, integer234 decimal. fraction5');
  is([new Intl.NumberFormat('ru').resolvedOptions().locale, [1, 2].map(new Intl.NumberFormat('en').format)], ['ru', ['1', '2']]);
  throws(() => new Intl.NumberFormat('en', { style: 'currency' }), 'TypeError');
  throws(() => new Intl.NumberFormat('en', { maximumFractionDigits: 200 }), 'RangeError');
});
