// feature: async and await
// group: language
const { probe } = require('./check.js');

const order = [];
async function slow(x) {
  order.push('in ' + x);
  await null;
  order.push('out ' + x);
  return x * 2;
}

module.exports = probe(async ({ is, rejects }) => {
  const all = await Promise.all([slow(1), slow(2)]);
  is(all, [2, 4]);
  is(order, ['in 1', 'in 2', 'out 1', 'out 2']);
  await rejects((async () => { throw new TypeError('x'); })(), 'TypeError');
  let done = '';
  try { await Promise.reject(1); } catch (e) { done += e; } finally { done += 'f'; }
  is(done, '1f');
});
