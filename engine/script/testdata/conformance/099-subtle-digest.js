// feature: crypto.subtle.digest
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, rejects }) => {
  const hex = async (name) => [...new Uint8Array(await crypto.subtle.digest(name, new Uint8Array([97, 98, 99])))].map((b) => b.toString(16).padStart(2, '0')).join('');
  is(await hex('SHA-256'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  is(await hex({ name: 'SHA-1' }), 'a9993e364706816aba3e25717850c26c9cd0d89d');
  await rejects(crypto.subtle.digest('MD4', new Uint8Array(1)), 'NotSupportedError');
});
