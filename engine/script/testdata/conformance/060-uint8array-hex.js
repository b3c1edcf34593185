// feature: Uint8Array: toHex and fromHex
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([new Uint8Array([1, 255]).toHex(), Uint8Array.fromHex('01FF')], ['01ff', new Uint8Array([1, 255])]);
  throws(() => Uint8Array.fromHex('f'), 'SyntaxError');
});
