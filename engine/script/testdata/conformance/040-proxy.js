// feature: Proxy
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const log = [];
  const p = new Proxy({ a: 1 }, {
    get(t, k, r) { log.push('get ' + String(k)); return k in t ? Reflect.get(t, k, r) : 'none'; },
    set(t, k, v) { log.push('set ' + k); t[k] = v * 2; return true; },
    has(t, k) { return k === 'magic' || k in t; },
    deleteProperty(t, k) { return delete t[k]; },
    ownKeys() { return ['a', 'b']; },
    getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
  });
  p.b = 4;
  is([p.a, p.b, p.c, 'magic' in p, Object.keys(p)], [1, 8, 'none', true, ['a', 'b']]);
  is(log, ['set b', 'get a', 'get b', 'get c']);
  const call = new Proxy((a, b) => a + b, { apply: (f, self, args) => f(...args) * 10 });
  is(call(1, 2), 30);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  throws(() => proxy.x, 'TypeError');
});
