// feature: ArrayBuffer: transfer and resize
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const b = new ArrayBuffer(4), t = b.transfer(8);
  is([b.detached, t.byteLength, b.byteLength], [true, 8, 0]);
  const r = new ArrayBuffer(2, { maxByteLength: 4 });
  r.resize(4);
  is([r.byteLength, r.resizable], [4, true]);
});
