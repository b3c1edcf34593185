// Iterator and its helpers, for generators and the iterators of the engine.
const proto = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const done = {}; // what step returns at the end

function isObject(o) { return o !== null && (typeof o === 'object' || typeof o === 'function'); }

function object(o) {
  if (!isObject(o)) throw new TypeError('this is no iterator: ' + String(o));
  return o;
}

function close(it) {
  const f = it.return;
  if (f === undefined || f === null) return;
  if (!isObject(f.call(it))) throw new TypeError('the method return of an iterator must return an object');
}

// fail closes an iterator and throws e. Errors of closing are ignored.
function fail(it, e) {
  try {
    const f = it.return;
    if (f !== undefined && f !== null) f.call(it);
  } catch { /* e is thrown instead */ }
  throw e;
}

function direct(it) { return { it, next: it.next }; }

function step({ it, next }) {
  const r = next.call(it);
  if (!isObject(r)) throw new TypeError('an iterator must return objects, not ' + String(r));
  return r.done ? done : r.value;
}

function callable(it, f, name) {
  if (typeof f !== 'function') fail(it, new TypeError('Iterator.prototype.' + name + ' takes a function'));
}

function limit(it, n, name) {
  let number;
  try { number = +n; } catch (e) { fail(it, e); }
  if (Number.isNaN(number) || Math.trunc(number) < 0) fail(it, new RangeError('Iterator.prototype.' + name + ' takes a number from 0 on'));
  return Math.trunc(number);
}

function flattenable(value, texts) {
  if (!isObject(value) && !(texts && typeof value === 'string')) throw new TypeError(String(value) + ' is no object that can be iterated');
  const method = value[Symbol.iterator];
  const it = method === undefined || method === null ? value : method.call(value);
  if (!isObject(it)) throw new TypeError(String(it) + ' is no iterator');
  return direct(it);
}

// A helper produces values with a function, and releases its sources with another one when it is closed early.
const helpers = new WeakMap();

function stateOf(h) {
  const s = helpers.get(h);
  if (s === undefined) throw new TypeError('this is no iterator helper');
  if (s.running) throw new TypeError('the iterator helper is running');
  return s;
}

const helperProto = Object.create(proto);
define(helperProto, {
  next() {
    const s = stateOf(this);
    if (s.over) return { value: undefined, done: true };
    s.running = true;
    try {
      const value = s.produce();
      if (value !== done) return { value, done: false };
      s.over = true;
      return { value: undefined, done: true };
    } catch (e) {
      s.over = true;
      throw e;
    } finally {
      s.running = false;
    }
  },
  return() {
    const s = stateOf(this);
    if (!s.over) {
      s.over = s.running = true;
      try { s.release(); } finally { s.running = false; }
    }
    return { value: undefined, done: true };
  },
});
Object.defineProperty(helperProto, Symbol.toStringTag, { value: 'Iterator Helper', configurable: true });

function helper(release, produce) {
  const h = Object.create(helperProto);
  helpers.set(h, { release, produce, running: false, over: false });
  return h;
}

// guarded calls f with a value and its index, and closes the iterator if f throws.
function guarded(it, f, value, i) {
  try { return f(value, i); } catch (e) { return fail(it, e); }
}

define(proto, {
  map(f) {
    const it = object(this);
    callable(it, f, 'map');
    const source = direct(it);
    let i = 0;
    return helper(() => close(it), () => {
      const v = step(source);
      return v === done ? done : guarded(it, f, v, i++);
    });
  },
  filter(f) {
    const it = object(this);
    callable(it, f, 'filter');
    const source = direct(it);
    let i = 0;
    return helper(() => close(it), () => {
      for (;;) {
        const v = step(source);
        if (v === done || guarded(it, f, v, i++)) return v;
      }
    });
  },
  take(n) {
    const it = object(this);
    let left = limit(it, n, 'take');
    const source = direct(it);
    return helper(() => close(it), () => {
      if (left-- > 0) return step(source);
      close(it);
      return done;
    });
  },
  drop(n) {
    const it = object(this);
    let left = limit(it, n, 'drop');
    const source = direct(it);
    return helper(() => close(it), () => {
      for (; left > 0; left--) if (step(source) === done) return done;
      return step(source);
    });
  },
  flatMap(f) {
    const it = object(this);
    callable(it, f, 'flatMap');
    const source = direct(it);
    let i = 0, inner;
    return helper(() => {
      try { if (inner !== undefined) close(inner.it); } catch (e) { fail(it, e); }
      close(it);
    }, () => {
      for (;;) {
        if (inner === undefined) {
          const v = step(source);
          if (v === done) return done;
          try { inner = flattenable(f(v, i++), false); } catch (e) { fail(it, e); }
        }
        let v;
        try { v = step(inner); } catch (e) { fail(it, e); }
        if (v !== done) return v;
        inner = undefined;
      }
    });
  },
  reduce(f, ...initial) {
    const it = object(this);
    callable(it, f, 'reduce');
    const source = direct(it);
    let i = 0, sum = initial[0];
    if (initial.length === 0) {
      sum = step(source);
      if (sum === done) throw new TypeError('reduce of nothing without a first value');
      i = 1;
    }
    for (let v = step(source); v !== done; v = step(source)) {
      try { sum = f(sum, v, i++); } catch (e) { fail(it, e); }
    }
    return sum;
  },
  toArray() {
    const source = direct(object(this)), list = [];
    for (let v = step(source); v !== done; v = step(source)) list.push(v);
    return list;
  },
  forEach(f) {
    const it = object(this);
    callable(it, f, 'forEach');
    const source = direct(it);
    let i = 0;
    for (let v = step(source); v !== done; v = step(source)) guarded(it, f, v, i++);
  },
  some(f) { return search(object(this), f, 'some', false, (found) => found ? { is: true } : undefined); },
  every(f) { return search(object(this), f, 'every', true, (found) => found ? undefined : { is: false }); },
  find(f) { return search(object(this), f, 'find', undefined, (found, v) => found ? { is: v } : undefined); },
});

// search calls f for each value until decide returns a result. otherwise is the result if it returns none.
function search(it, f, name, otherwise, decide) {
  callable(it, f, name);
  const source = direct(it);
  let i = 0;
  for (let v = step(source); v !== done; v = step(source)) {
    const result = decide(guarded(it, f, v, i++), v);
    if (result !== undefined) {
      close(it);
      return result.is;
    }
  }
  return otherwise;
}

const sources = new WeakMap();
const wrapped = Object.create(proto);
define(wrapped, {
  next() { const { it, next } = sources.get(this); return next.call(it); },
  return() {
    const { it } = sources.get(this), f = it.return;
    return f === undefined || f === null ? { value: undefined, done: true } : f.call(it);
  },
});

function Iterator() {
  if (new.target === undefined || new.target === Iterator) throw new TypeError('Iterator is there to be extended');
}
Object.defineProperty(Iterator, 'prototype', { value: proto, writable: false });

// shadow defines a property of an object that inherits it from proto, as if the property of proto were writable.
function shadow(o, key, value) {
  if (!isObject(o)) throw new TypeError('this is no object');
  if (o === proto) throw new TypeError('this property of Iterator.prototype cannot be changed');
  if (Object.prototype.hasOwnProperty.call(o, key)) o[key] = value;
  else Object.defineProperty(o, key, { value, writable: true, enumerable: true, configurable: true });
}
for (const [key, value] of [[Symbol.toStringTag, 'Iterator'], ['constructor', Iterator]]) {
  const accessors = Object.getOwnPropertyDescriptor({ get [key]() { return value; }, set [key](v) { shadow(this, key, v); } }, key);
  Object.defineProperty(proto, key, { get: accessors.get, set: accessors.set, enumerable: false, configurable: true });
}
define(Iterator, {
  from(value) {
    const source = flattenable(value, true);
    if (source.it instanceof Iterator) return source.it;
    const w = Object.create(wrapped);
    sources.set(w, source);
    return w;
  },
  concat(...items) {
    const list = items.map((item) => {
      if (!isObject(item)) throw new TypeError(String(item) + ' is no object that can be iterated');
      const open = item[Symbol.iterator];
      if (typeof open !== 'function') throw new TypeError('the object cannot be iterated');
      return { item, open };
    });
    let at = 0, inner;
    return helper(() => { if (inner !== undefined) close(inner.it); }, () => {
      for (;;) {
        if (inner === undefined) {
          if (at === list.length) return done;
          const { item, open } = list[at++], it = open.call(item);
          if (!isObject(it)) throw new TypeError(String(it) + ' is no iterator');
          inner = direct(it);
        }
        const v = step(inner);
        if (v !== done) return v;
        inner = undefined;
      }
    });
  },
});
define(globalThis, { Iterator });
