// feature: TextEncoder and TextDecoder
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([new TextEncoder().encode('aЖ😀'), new TextEncoder().encoding], [new Uint8Array([97, 208, 150, 240, 159, 152, 128]), 'utf-8']);
  is(new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 208, 150])), 'Ж');
  is(new TextDecoder().decode(new Uint8Array([97, 255])), 'a\ufffd');
  throws(() => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])), 'TypeError');
  const d = new TextDecoder();
  is(d.decode(new Uint8Array([208]), { stream: true }) + d.decode(new Uint8Array([150])), 'Ж');
  is(new TextEncoder().encodeInto('Жa', new Uint8Array(2)), { read: 1, written: 2 });
});
