// feature: FinalizationRegistry
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const token = {}, r = new FinalizationRegistry(() => {});
  is([r.register({}, 'held', token), r.unregister(token), r.unregister(token)], [undefined, true, false]);
  throws(() => new FinalizationRegistry(), 'TypeError');
  throws(() => r.register(1), 'TypeError');
});
