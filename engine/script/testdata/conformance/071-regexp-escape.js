// feature: RegExp.escape
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is(new RegExp('^' + RegExp.escape('a.b*(c)[d]-{1}|\\ /') + '$').test('a.b*(c)[d]-{1}|\\ /'), true);
  is(RegExp.escape('1a'), '\\x31a');
  throws(() => RegExp.escape(1), 'TypeError');
});
