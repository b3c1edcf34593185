// feature: typed arrays, ArrayBuffer and DataView
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const b = new ArrayBuffer(8), v = new DataView(b);
  v.setFloat32(0, 1.5, true); v.setBigInt64(0, -2n);
  is([v.getBigInt64(0), new Uint8Array(b)[7], new Int8Array(b)[7]], [-2n, 254, -2]);
  is([Uint8Array.from([1, 300]), new Uint8ClampedArray([300]), new Uint8Array([1, 2, 3]).subarray(1).byteOffset], [new Uint8Array([1, 44]), new Uint8ClampedArray([255]), 1]);
  is([b.slice(4).byteLength, ArrayBuffer.isView(v), new Float64Array([0.1])[0]], [4, true, 0.1]);
  throws(() => new Uint16Array(b, 1), 'RangeError');
});
