// feature: Iterator helpers close their source as the specification says
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const log = [];
  const source = (n = 3) => ({
    __proto__: Iterator.prototype,
    get next() { log.push('get next'); let i = 0; return () => ({ done: i >= n, value: i++ }); },
    return() { log.push('return'); return {}; },
  });
  const logged = (run) => { log.length = 0; let r; try { r = run(); } catch (e) { r = e.constructor.name; } return [r, ...log].join(' '); };
  is(logged(() => source().map((x) => x + 1).toArray()), '1,2,3 get next');
  is(logged(() => source().map(1)), 'TypeError return');
  is(logged(() => source().take(-1)), 'RangeError return');
  is(logged(() => source().take(NaN)), 'RangeError return');
  is(logged(() => source().take(-0.5).toArray()), ' get next return');
  is(logged(() => source().take(2).toArray()), '0,1 get next return');
  is(logged(() => source().drop(2).toArray()), '2 get next');
  is(logged(() => source().some((x) => x === 1)), 'true get next return');
  is(logged(() => source().every((x) => x < 1)), 'false get next return');
  is(logged(() => source().find((x) => x > 5)), ' get next');
  is(logged(() => source().forEach(() => { throw new RangeError(); })), 'RangeError get next return');
  is(logged(() => source(0).reduce((a, b) => a + b)), 'TypeError get next');
  is(logged(() => source().reduce((a, b) => a + b)), '3 get next');
  is(logged(() => source().filter((x) => x % 2).toArray()), '1 get next');
  is(logged(() => source().flatMap((x) => [x, x]).toArray()), '0,0,1,1,2,2 get next');
  is(logged(() => source().flatMap((x) => 'ab').toArray()), 'TypeError get next return');
  is(logged(() => { const h = source().map((x) => x); h.next(); h.return(); return h.next().done; }), 'true get next return');
  is(logged(() => { const h = source().map((x) => x); h.return(); h.return(); return h.next().done; }), 'true get next return');
  is(logged(() => { const h = [1].values().map(() => h.next()); return h.next(); }), 'TypeError');
  is(logged(() => [...Iterator.concat([1, 2], new Set([3]))]), '1,2,3');
  is(logged(() => Iterator.concat(1)), 'TypeError');
  is(logged(() => [...Iterator.from('ab')]), 'a,b');
  is(logged(() => Iterator.from(5)), 'TypeError');
  is(logged(() => Iterator.from({ next: () => ({ done: true }) }).toArray().length), '0');
  is(logged(() => new Iterator()), 'TypeError');
  is(logged(() => new (class extends Iterator {})() instanceof Iterator), 'true');
  is(Object.prototype.toString.call([].values().map((x) => x)), '[object Iterator Helper]');
  is(Iterator.prototype[Symbol.toStringTag], 'Iterator');
  is(logged(() => { Iterator.prototype.constructor = 1; }), 'TypeError');
  is(Object.keys(Object.assign(Object.create(Iterator.prototype), { constructor: 2 })), ['constructor']);
  is(Iterator.prototype.map.length + Iterator.prototype.map.name, '1map');
  is(Object.getOwnPropertyDescriptor(Iterator, 'prototype').writable, false);
});
