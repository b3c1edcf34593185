// feature: performance.now
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, ok }) => {
  const start = performance.now();
  await new Promise((done) => setTimeout(done, 3));
  const took = performance.now() - start;
  ok(took >= 2 && took < 60000, String(took));
  is(typeof start, 'number');
});
