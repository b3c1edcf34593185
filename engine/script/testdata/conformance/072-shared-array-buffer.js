// feature: SharedArrayBuffer
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const b = new SharedArrayBuffer(8);
  is([b.byteLength, new Uint8Array(b).length], [8, 8]);
});
