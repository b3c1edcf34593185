// feature: buffer and string_decoder
// group: module
const { probe } = require('./check.js');

const { Buffer: B } = require('buffer');
const { StringDecoder } = require('string_decoder');

module.exports = probe(({ is }) => {
  is(B === Buffer, true);
  const d = new StringDecoder('utf8'), euro = B.from('€');
  is([d.write(euro.subarray(0, 1)), d.write(euro.subarray(1)), d.write(B.from([0xd0])), d.end()], ['', '€', '', '\ufffd']);
});
