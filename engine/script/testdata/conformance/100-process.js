// feature: process.env (an allow-list), nextTick, hrtime
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is, ok }) => {
  is([process.env.CONFORMANCE, process.env.PATH, process.env.NO_SUCH], ['yes', undefined, undefined]);
  const order = [];
  await new Promise((done) => {
    Promise.resolve().then(() => order.push('micro'));
    process.nextTick((x) => { order.push('tick' + x); setTimeout(done, 1); }, 1);
    order.push('now');
  });
  is([order[0], order.slice().sort()], ['now', ['micro', 'now', 'tick1']]);
  ok(process.hrtime.bigint() > 0n, 'hrtime');
  is(typeof process.exit === 'function' && process.exit.length > 9, false);
});
