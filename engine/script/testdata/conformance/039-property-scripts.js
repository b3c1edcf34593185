// feature: RegExp: \p{Script=Cyrillic}, \p{Emoji}
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is([/^\p{Script=Cyrillic}+$/u.test('Ёлка'), /\p{Script=Cyrillic}/u.test('E'), /\p{sc=Latin}/u.test('E')], [true, false, true]);
  is([/\p{Script=Han}/u.test('漢'), /\p{Emoji_Presentation}/u.test('😀'), /\p{White_Space}/u.test('\u00a0')], [true, true, true]);
});
