// feature: String: replaceAll, matchAll, padStart, trimEnd, normalize, codePointAt
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is(['a.b.c'.replaceAll('.', '-'), 'aXbX'.replaceAll(/x/gi, (m, i) => i), '7'.padStart(3, '0'), ' a '.trimEnd()], ['a-b-c', 'a1b3', '007', ' a']);
  is(['é'.normalize('NFD').length, '\u0438\u0306'.normalize() === 'й', '😀'.codePointAt(0), String.fromCodePoint(0x1f600)], [2, true, 128512, '😀']);
  is(['ßa'.toUpperCase(), 'ЁЖ'.toLowerCase(), 'İ'.toLowerCase().length, 'a-b-c'.split('-', 2)], ['SSA', 'ёж', 2, ['a', 'b']]);
  is(['abc'.substring(2, 0), 'abc'.slice(-2), 'x'.repeat(3), 'abc'.startsWith('b', 1)], ['ab', 'bc', 'xxx', true]);
});
