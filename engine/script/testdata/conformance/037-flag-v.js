// feature: RegExp: flag v (sets)
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const r = new RegExp('^[\\p{L}--[a-z]]+$', 'v');
  is([r.test('Я'), r.test('a'), r.unicodeSets], [true, false, true]);
});
