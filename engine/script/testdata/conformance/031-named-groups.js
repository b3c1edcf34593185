// feature: RegExp: named groups
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const m = /(?<year>\d{4})-(?<month>\d\d)/.exec('on 2024-05');
  is([m.groups.year, m.groups.month, m.index], ['2024', '05', 3]);
  is('2024-05'.replace(/(?<y>\d+)-(?<m>\d+)/, '$<m>/$<y>'), '05/2024');
  is(/(?<a>.)\k<a>/.test('xx'), true);
  is([...'a1b2'.matchAll(/(?<c>[a-z])(?<d>\d)/g)].map((x) => x.groups.c + x.groups.d), ['a1', 'b2']);
});
