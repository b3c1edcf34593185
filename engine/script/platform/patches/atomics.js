// Atomics on the memory of one VM. A turn runs alone, so that plain steps are atomic, and no other thread can
// wait.
function slot(a, i) {
  if (!ArrayBuffer.isView(a) || a instanceof DataView || /Float|Clamped/.test(a.constructor.name)) throw new TypeError('Atomics takes an array of integers');
  const n = Math.trunc(Number(i)) || 0;
  if (n < 0 || n >= a.length) throw new RangeError('Atomics: there is no element ' + n);
  return n;
}

function integer(a, v) {
  return typeof a[0] === 'bigint' || /^Big/.test(a.constructor.name) ? BigInt(v) : Math.trunc(Number(v)) || 0;
}

function change(compute) {
  return (a, i, v) => {
    const n = slot(a, i), operand = integer(a, v), old = a[n];
    a[n] = compute(old, operand);
    return old;
  };
}

const [add, sub, and, or, xor, exchange] = [(a, b) => a + b, (a, b) => a - b, (a, b) => a & b, (a, b) => a | b, (a, b) => a ^ b, (a, b) => b].map(change);
const Atomics = {};
define(Atomics, {
  add, sub, and, or, xor, exchange,
  load(a, i) { return a[slot(a, i)]; },
  store(a, i, v) { const n = slot(a, i), value = integer(a, v); a[n] = value; return value; },
  compareExchange(a, i, expected, value) {
    const n = slot(a, i), old = a[n], seen = new a.constructor([integer(a, expected)])[0];
    if (old === seen) a[n] = integer(a, value);
    return old;
  },
  isLockFree(n) { return n === 1 || n === 2 || n === 4 || n === 8; },
  notify(a, i) { slot(a, i); return 0; },
  wait() { throw new TypeError('Atomics.wait: a script must not block; await a promise'); },
});
Object.defineProperty(Atomics, Symbol.toStringTag, { value: 'Atomics', configurable: true });
define(globalThis, { Atomics });
