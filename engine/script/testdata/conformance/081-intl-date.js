// feature: Intl.DateTimeFormat
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const d = new Date(Date.UTC(2024, 0, 2, 3, 4, 5));
  const f = (locale, options) => new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(d);
  is([f('en-US'), f('en-GB'), f('ru'), f('ja')], ['1/2/2024', '02/01/2024', '02.01.2024', '2024/1/2']);
  is([f('en-US', { dateStyle: 'full' }), f('ru', { dateStyle: 'long' })], ['Tuesday, January 2, 2024', '2 января 2024 г.']);
  is([f('en-US', { weekday: 'short', month: 'short', day: 'numeric' }), f('ru', { month: 'long' })], ['Tue, Jan 2', 'январь']);
  is(f('en-US', { hour: 'numeric', minute: '2-digit' }).replace(/\u202f/g, ' '), '3:04 AM');
  is(f('en-US', { timeZone: 'America/New_York', hour: '2-digit', minute: '2-digit', hour12: false }), '22:04');
  is(new Intl.DateTimeFormat('ru', { timeZone: 'UTC' }).formatToParts(d).map((p) => p.type).join(), 'day,literal,month,literal,year');
  is(typeof new Intl.DateTimeFormat().resolvedOptions().timeZone, 'string');
  throws(() => new Intl.DateTimeFormat('en', { timeZone: 'Mars/Base' }), 'RangeError');
});
