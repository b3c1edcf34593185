// feature: setTimeout and clearTimeout
// group: platform
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  const order = [];
  await new Promise((done) => {
    setTimeout((a, b) => order.push(a + b), 2, 'x', 'y');
    clearTimeout(setTimeout(() => order.push('never'), 1));
    setTimeout(done, 20);
    Promise.resolve().then(() => order.push('micro'));
    order.push('now');
  });
  clearTimeout(undefined);
  is(order, ['now', 'micro', 'xy']);
});
