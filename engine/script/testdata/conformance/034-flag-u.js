// feature: RegExp: flag u
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is(['😀'.match(/./u)[0].length, '😀'.match(/./)[0].length], [2, 1]);
  is([/\u{1F600}/u.test('😀'), /^[^x]$/u.test('😀'), /^[😀-😂]$/u.test('😁')], [true, true, true]);
  is([/ПРИВЕТ/iu.test('привет'), /[а-яё]+/i.exec('Ёж')[0]], [true, 'Ёж']);
});
