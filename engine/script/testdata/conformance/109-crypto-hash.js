// feature: crypto: createHash and createHmac
// group: module
const { probe } = require('./check.js');

const crypto = require('crypto');

module.exports = probe(({ is, throws }) => {
  is(crypto.createHash('sha256').update('a').update(Buffer.from('bc')).digest('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  is([crypto.createHash('md5').update('abc').digest('base64'), crypto.createHash('sha1').update('').digest().length], ['kAFQmDzST7DWlj99KOF/cg==', 20]);
  is(crypto.createHmac('sha256', 'key').update('The quick brown fox jumps over the lazy dog').digest('hex'), 'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8');
  throws(() => crypto.createHash('nonsense'), 'Error');
});
