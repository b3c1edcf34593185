// feature: RegExp: flag u refuses what it does not know
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ throws }) => {
  throws(() => new RegExp('\\-', 'u'), 'SyntaxError');
  throws(() => new RegExp('{', 'u'), 'SyntaxError');
  throws(() => new RegExp('\\u{110000}', 'u'), 'SyntaxError');
});
