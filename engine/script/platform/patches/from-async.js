// Array.fromAsync.
async function each(source, visit) {
  const method = source[Symbol.asyncIterator] ?? source[Symbol.iterator];
  if (method === undefined || method === null) {
    for (let i = 0, n = Math.min(Math.max(Math.trunc(Number(source.length)) || 0, 0), Number.MAX_SAFE_INTEGER); i < n; i++) await visit(await source[i]);
    return;
  }
  const it = method.call(source), plain = source[Symbol.asyncIterator] == null, next = it.next;
  for (;;) {
    const step = plain ? next.call(it) : await next.call(it);
    if (step === null || typeof step !== 'object') throw new TypeError('the iterator gave ' + step + ', not an object');
    if (step.done) return;
    try {
      await visit(plain ? await step.value : step.value);
    } catch (e) {
      try { await it.return?.(); } catch { /* the first error counts */ }
      throw e;
    }
  }
}

define(Array, {
  async fromAsync(source, map, self) {
    if (map !== undefined && typeof map !== 'function') throw new TypeError('Array.fromAsync takes a function to map with');
    const out = typeof this === 'function' && this !== Array ? new this() : [];
    let n = 0;
    await each(source, async (value) => {
      const mapped = map ? await map.call(self, value, n) : value;
      Object.defineProperty(out, n++, { value: mapped, writable: true, enumerable: true, configurable: true });
    });
    out.length = n;
    return out;
  },
});
