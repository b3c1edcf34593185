// feature: Uint8Array: toBase64 and fromBase64
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const b = new Uint8Array([251, 255, 0]);
  is([b.toBase64(), b.toBase64({ alphabet: 'base64url' }), Uint8Array.fromBase64('+/8A')], ['+/8A', '-_8A', b]);
  is(new Uint8Array([1]).toBase64({ omitPadding: true }), 'AQ');
  throws(() => Uint8Array.fromBase64('*'), 'SyntaxError');
});
