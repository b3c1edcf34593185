// feature: String.localeCompare
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is(['яблоко', 'Ёж', 'ель', 'жук', 'Арбуз'].sort((a, b) => a.localeCompare(b, 'ru')), ['Арбуз', 'Ёж', 'ель', 'жук', 'яблоко']);
  is([Math.sign('a'.localeCompare('b')), 'a'.localeCompare('a'), Math.sign('a'.localeCompare('B')), Math.sign('résumé'.localeCompare('resume'))], [-1, 0, -1, 1]);
  is(['a'.localeCompare('A', 'en', { sensitivity: 'base' }), Math.sign('2'.localeCompare('10', 'en', { numeric: true }))], [0, -1]);
});
