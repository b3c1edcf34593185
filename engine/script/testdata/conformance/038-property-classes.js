// feature: RegExp: \p{L} and other property classes
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([/\p{L}/u.test('П'), /^\p{L}+$/u.test('Привет'), /\p{L}/u.test('1'), /\P{L}/u.test('П')], [true, true, false, false]);
  is([/^\p{Lu}\p{Ll}+$/u.test('Иван'), /\p{N}/u.test('٣'), /^[\p{L}\d_-]+$/u.test('Имя_1-b')], [true, true, true]);
  is([/\p{Letter}/u.test('ж'), /\p{General_Category=Uppercase_Letter}/u.test('Ж'), /^\p{ASCII}+$/u.test('az')], [true, true, true]);
  is(new RegExp('^[^\\p{P}\\s]+$', 'u').test('слово'), true);
  throws(() => new RegExp('\\p{Nonsense}', 'u'), 'SyntaxError');
});
