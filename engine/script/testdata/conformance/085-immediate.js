// feature: setImmediate, queueMicrotask and their order
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  const order = [];
  await new Promise((done) => {
    setImmediate(() => { order.push('immediate'); done(); });
    clearImmediate(setImmediate(() => order.push('never')));
    queueMicrotask(() => order.push('micro'));
    order.push('now');
  });
  is(order, ['now', 'micro', 'immediate']);
});
