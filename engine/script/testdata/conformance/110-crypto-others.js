// feature: crypto: randomBytes, timingSafeEqual, pbkdf2, randomUUID
// group: module
const { probe } = require('./check.js');

const crypto = require('node:crypto');

module.exports = probe(async ({ is, throws }) => {
  is([crypto.randomBytes(5).length, typeof crypto.randomUUID(), Buffer.isBuffer(crypto.randomBytes(1))], [5, 'string', true]);
  is([crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b'))], [true, false]);
  throws(() => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')), 'RangeError');
  const key = await new Promise((ok, no) => crypto.pbkdf2('password', 'salt', 2, 20, 'sha1', (e, k) => (e ? no(e) : ok(k))));
  is(key.toString('hex'), 'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957');
});
