// feature: atob and btoa
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([btoa('a\xff'), atob('Yf8='), atob(' Y Q = = ')], ['Yf8=', 'a\xff', 'a']);
  throws(() => btoa('Ж'), 'InvalidCharacterError');
  throws(() => atob('a'), 'InvalidCharacterError');
});
