// Iterator and its helpers, for generators and the iterators of the engine.
const proto = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));

function callable(f, name) {
  if (typeof f !== 'function') throw new TypeError('Iterator.prototype.' + name + ' takes a function');
}

function object(o) {
  if (o === null || (typeof o !== 'object' && typeof o !== 'function')) throw new TypeError('this is no iterator: ' + String(o));
  return o;
}

function close(it) {
  const f = it.return;
  return f === undefined || f === null ? {} : f.call(it);
}

// over lets for...of use an iterator that need not be iterable, and closes it.
function over(it) {
  const next = it.next;
  return { [Symbol.iterator]: () => ({ next: () => next.call(it), return: () => close(it) }) };
}

function limit(it, n, name) {
  const number = Number(n);
  if (Number.isNaN(number) || number < 0) {
    close(it);
    throw new RangeError('Iterator.prototype.' + name + ' takes a number from 0 on');
  }
  return Math.trunc(number);
}

// A helper wraps a generator over the source. If it was never started, it closes the source itself.
const state = new WeakMap();
const helperProto = Object.create(proto);
define(helperProto, {
  next() { const s = state.get(object(this)); s.begun = true; return s.body.next(); },
  return() {
    const s = state.get(object(this));
    if (!s.begun) { s.begun = true; close(s.source); }
    return s.body.return();
  },
});
Object.defineProperty(helperProto, Symbol.toStringTag, { value: 'Iterator Helper', configurable: true });

function helper(source, body) {
  const h = Object.create(helperProto);
  state.set(h, { source, body, begun: false });
  return h;
}

function iterable(value, texts) {
  if (typeof value === 'string' ? !texts : value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    throw new TypeError(String(value) + ' is no object that can be iterated');
  }
  const method = value[Symbol.iterator];
  return method === undefined || method === null ? value : object(method.call(value));
}

define(proto, {
  map(f) {
    const it = object(this);
    callable(f, 'map');
    return helper(it, (function* () { let i = 0; for (const v of over(it)) yield f(v, i++); })());
  },
  filter(f) {
    const it = object(this);
    callable(f, 'filter');
    return helper(it, (function* () { let i = 0; for (const v of over(it)) if (f(v, i++)) yield v; })());
  },
  take(n) {
    const it = object(this), most = limit(it, n, 'take');
    return helper(it, (function* () {
      if (most === 0) { close(it); return; }
      let left = most;
      for (const v of over(it)) { yield v; if (--left === 0) return; }
    })());
  },
  drop(n) {
    const it = object(this), most = limit(it, n, 'drop');
    return helper(it, (function* () { let left = most; for (const v of over(it)) if (left > 0) left--; else yield v; })());
  },
  flatMap(f) {
    const it = object(this);
    callable(f, 'flatMap');
    return helper(it, (function* () { let i = 0; for (const v of over(it)) yield* over(iterable(f(v, i++), false)); })());
  },
  reduce(f, ...initial) {
    callable(f, 'reduce');
    let i = 0, some = initial.length > 0, sum = initial[0];
    for (const v of over(object(this))) {
      if (some) sum = f(sum, v, i);
      else { some = true; sum = v; }
      i++;
    }
    if (!some) throw new TypeError('reduce of nothing without a first value');
    return sum;
  },
  toArray() { return [...over(object(this))]; },
  forEach(f) { callable(f, 'forEach'); let i = 0; for (const v of over(object(this))) f(v, i++); },
  some(f) { callable(f, 'some'); let i = 0; for (const v of over(object(this))) if (f(v, i++)) return true; return false; },
  every(f) { callable(f, 'every'); let i = 0; for (const v of over(object(this))) if (!f(v, i++)) return false; return true; },
  find(f) { callable(f, 'find'); let i = 0; for (const v of over(object(this))) if (f(v, i++)) return v; },
});

const wrapped = Object.create(proto);

function Iterator() {
  if (new.target === undefined || new.target === Iterator) throw new TypeError('Iterator is there to be extended');
}
Object.defineProperty(Iterator, 'prototype', { value: proto, writable: false });
define(proto, { constructor: Iterator });
Object.defineProperty(proto, Symbol.toStringTag, { value: 'Iterator', writable: true, configurable: true });
define(Iterator, {
  from(value) {
    const it = iterable(value, true);
    if (it instanceof Iterator) return it;
    const next = it.next;
    return Object.create(wrapped, { next: { value: () => next.call(it) }, return: { value: () => close(it) } });
  },
});
define(globalThis, { Iterator });
