// feature: RegExp: flag s
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is([/a.b/s.test('a\nb'), /a.b/.test('a\nb'), /x/s.dotAll, /x/s.flags], [true, false, true, 's']);
});
