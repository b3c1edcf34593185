// feature: crypto.randomUUID and crypto.getRandomValues
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, ok, throws }) => {
  ok(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), 'a UUID');
  is(crypto.randomUUID() === crypto.randomUUID(), false);
  const a = new Uint32Array(8);
  is([crypto.getRandomValues(a) === a, a.some((n) => n !== 0)], [true, true]);
  throws(() => crypto.getRandomValues(new Uint8Array(65537)), 'QuotaExceededError');
});
