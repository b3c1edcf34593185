// feature: ArrayBuffer.resize
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const r = new ArrayBuffer(2, { maxByteLength: 4 });
  r.resize(4);
  is([r.byteLength, r.resizable, r.maxByteLength], [4, true, 4]);
  throws(() => r.resize(5), 'RangeError');
});
