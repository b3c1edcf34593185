// feature: RegExp: lookbehind and lookahead
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is('$42 €17'.match(/(?<=€)\d+/)[0], '17');
  is('a1 b2'.replace(/(?<!a)\d/g, 'X'), 'a1 bX');
  is('1234567'.replace(/\B(?=(\d{3})+(?!\d))/g, ','), '1,234,567');
  is(/^(?=.*\d)(?=.*[a-z]).{4,}$/.test('abc1'), true);
});
