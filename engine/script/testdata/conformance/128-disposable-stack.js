// feature: DisposableStack, AsyncDisposableStack and SuppressedError
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(async ({ is }) => {
  const log = [];
  const caught = (run) => { try { return run(); } catch (e) { return e; } };
  const s = new DisposableStack();
  is(s.use(null), null);
  s.use({ [Symbol.dispose]() { log.push('use'); } });
  is(s.adopt(5, (v) => log.push('adopt' + v)), 5);
  is(s.defer(() => log.push('defer')), undefined);
  const moved = s.move();
  is([s.disposed, moved.disposed, moved instanceof DisposableStack], [true, false, true]);
  is(caught(() => s.defer(() => 0)).constructor, ReferenceError);
  moved.dispose();
  moved.dispose();
  is(log, ['defer', 'adopt5', 'use']);
  is(caught(() => new DisposableStack().use({})).constructor, TypeError);
  is(caught(() => new DisposableStack().adopt({}, 1)).constructor, TypeError);
  is(caught(() => DisposableStack()).constructor, TypeError);
  is(caught(() => DisposableStack.prototype.dispose.call({})).constructor, TypeError);
  is(DisposableStack.prototype[Symbol.dispose] === DisposableStack.prototype.dispose, true);
  is(Object.prototype.toString.call(moved), '[object DisposableStack]');
  const bad = new DisposableStack();
  bad.defer(() => { throw 1; });
  bad.defer(() => { throw 2; });
  bad.defer(() => { throw 3; });
  const e = caught(() => bad.dispose());
  is([e.constructor.name, e.error, e.suppressed.error, e.suppressed.suppressed], ['SuppressedError', 1, 2, 3]);
  is(e instanceof Error, true);
  const made = SuppressedError('a', 'b', 'c');
  is([made.message, made.error, made.suppressed, Object.keys(made).length, SuppressedError.length], ['c', 'a', 'b', 0, 3]);
  is(Object.hasOwn(new SuppressedError(1, 2), 'message'), false);

  log.length = 0;
  const a = new AsyncDisposableStack();
  a.use({ async [Symbol.asyncDispose]() { await null; log.push('async'); } });
  a.use({ [Symbol.dispose]() { log.push('sync'); } });
  a.use(undefined);
  a.adopt(1, async (v) => { log.push('adopt' + v); });
  a.defer(() => { log.push('defer'); });
  const p = a.disposeAsync();
  is([p instanceof Promise, a.disposed], [true, true]);
  is(await p, undefined);
  is(log, ['defer', 'adopt1', 'sync', 'async']);
  const failing = new AsyncDisposableStack();
  failing.defer(async () => { throw 'x'; });
  is(await failing.disposeAsync().catch((x) => x), 'x');
  is(await AsyncDisposableStack.prototype.disposeAsync.call({}).catch((x) => x.constructor), TypeError);

  const m = new Map([[-0, 'zero']]);
  is([m.getOrInsert(0, 1), m.getOrInsert('k', 2), m.get('k'), m.getOrInsertComputed('c', (k) => k + 1), m.size], ['zero', 2, 2, 'c1', 3]);
  const w = new WeakMap(), key = {};
  is([w.getOrInsertComputed(key, () => 7), w.getOrInsert(key, 8)], [7, 7]);
  is(caught(() => w.getOrInsertComputed(1, () => 7)).constructor, TypeError);
});
