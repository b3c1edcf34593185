// feature: setInterval and clearInterval
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  let n = 0;
  await new Promise((done) => { const t = setInterval(() => { if (++n === 3) { clearInterval(t); done(); } }, 1); });
  await new Promise((done) => setTimeout(done, 10));
  is(n, 3);
});
