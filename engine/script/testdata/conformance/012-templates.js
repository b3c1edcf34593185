// feature: template literals and tags
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const tag = (parts, ...values) => parts.raw.join('|') + values.join(',');
  is(`a${1 + 1}b
c`, 'a2b\nc');
  is(tag`x\n${1}y${2}z`, 'x\\n|y|z1,2');
  is(String.raw`\u0041${1}`, '\\u00411');
  const same = () => ((s) => s)`a`;
  is(same() === same(), true);
});
