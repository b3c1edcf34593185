// feature: Promise.allSettled, race and finally
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  is(await Promise.allSettled([1, Promise.reject('no')]),
    [{ status: 'fulfilled', value: 1 }, { status: 'rejected', reason: 'no' }]);
  is(await Promise.race([new Promise(() => {}), Promise.resolve('first')]), 'first');
  let called = 0;
  is([await Promise.resolve(5).finally(() => { called++; return 9; }), called], [5, 1]);
  is(await Promise.resolve({ then: (ok) => ok('thenable') }), 'thenable');
});
