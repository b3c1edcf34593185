// __defineGetter__ and similar functions, which old code uses.
function find(o, name, kind) {
  for (; o !== null; o = Object.getPrototypeOf(o)) {
    const d = Object.getOwnPropertyDescriptor(o, name);
    if (d) return d[kind];
  }
}

function add(o, name, kind, f) {
  if (typeof f !== 'function') throw new TypeError('__define' + kind[0].toUpperCase() + 'etter__ takes a function');
  Object.defineProperty(Object(o), name, { [kind]: f, enumerable: true, configurable: true });
}

define(Object.prototype, {
  __defineGetter__(name, f) { add(this, name, 'get', f); },
  __defineSetter__(name, f) { add(this, name, 'set', f); },
  __lookupGetter__(name) { return find(Object(this), name, 'get'); },
  __lookupSetter__(name) { return find(Object(this), name, 'set'); },
});
