// feature: Buffer
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, ok, throws }) => {
  is([Buffer.from('Жa').toString('hex'), Buffer.from('d096', 'hex').toString(), Buffer.from('aGk', 'base64').toString('latin1')], ['d09661', 'Ж', 'hi']);
  is([Buffer.concat([Buffer.from([1]), new Uint8Array([2])]).length, Buffer.byteLength('Ж'), Buffer.alloc(2, 7)[1]], [2, 2, 7]);
  is(JSON.stringify(Buffer.from('a')), '{"type":"Buffer","data":[97]}');
  ok(Buffer.from('x') instanceof Uint8Array, 'a Uint8Array');
  is([Buffer.isBuffer(Buffer.from('')), Buffer.isBuffer(new Uint8Array(1)), Buffer.from('abc').equals(Buffer.from('abc')), Buffer.compare(Buffer.from('a'), Buffer.from('b'))], [true, false, true, -1]);
  const b = Buffer.alloc(8);
  b.writeUInt32BE(0xdeadbeef, 0); b.writeInt16LE(-2, 4);
  is([b.readUInt32BE(0), b.readInt16LE(4), b.slice(0, 2).toString('hex'), b.indexOf(0xad), b.toString('base64')], [0xdeadbeef, -2, 'dead', 1, '3q2+7/7/AAA=']);
  throws(() => b.readUInt32BE(6), 'RangeError');
  is(Buffer.from('привет').subarray(0, 4).toString('utf8'), 'пр');
});
