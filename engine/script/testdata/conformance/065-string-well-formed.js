// feature: String: isWellFormed and toWellFormed
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is(['a😀'.isWellFormed(), 'a\ud83d'.isWellFormed(), '\ude00b'.toWellFormed(), ''.isWellFormed()], [true, false, '\ufffdb', true]);
});
