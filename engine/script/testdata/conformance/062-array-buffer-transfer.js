// feature: ArrayBuffer.transfer
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const b = new ArrayBuffer(4), t = b.transfer(8);
  is([b.detached, t.byteLength, b.byteLength], [true, 8, 0]);
});
