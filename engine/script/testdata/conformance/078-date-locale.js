// feature: Date.toLocaleString, toLocaleDateString, toLocaleTimeString
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const d = new Date(Date.UTC(2024, 4, 9, 13, 5, 7)), utc = { timeZone: 'UTC' };
  is(d.toLocaleString('ru-RU', utc), '09.05.2024, 13:05:07');
  is(d.toLocaleDateString('en-US', utc), '5/9/2024');
  is(d.toLocaleDateString('de-DE', { ...utc, day: 'numeric', month: 'long', year: 'numeric' }), '9. Mai 2024');
  is(d.toLocaleTimeString('en-GB', utc), '13:05:07');
  is(d.toLocaleString('ru-RU', { timeZone: 'Asia/Vladivostok', dateStyle: 'short', timeStyle: 'short' }), '09.05.2024, 23:05');
});
