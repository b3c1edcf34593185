// feature: RegExp: flag y
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const r = /\d+/y;
  r.lastIndex = 2;
  is([r.exec('ab12')[0], r.lastIndex, r.exec('ab12'), r.sticky], ['12', 4, null, true]);
});
