// WeakRef and FinalizationRegistry. A registry never calls back: the language permits that, and services must not
// depend on it.
function held(target, what) {
  if (target === null || (typeof target !== 'object' && typeof target !== 'function' && (typeof target !== 'symbol' || Symbol.keyFor(target) !== undefined))) {
    throw new TypeError(what + ': ' + String(target) + ' is no object');
  }
  return target;
}

class WeakRef {
  #ref;
  constructor(target) { this.#ref = native.weak(held(target, 'WeakRef')); }
  deref() { return this.#ref(); }
}

class FinalizationRegistry {
  #tokens = new WeakMap();
  constructor(callback) {
    if (typeof callback !== 'function') throw new TypeError('FinalizationRegistry takes a function');
  }
  register(target, value, token) {
    held(target, 'register');
    if (target === value) throw new TypeError('register: the value would keep the target');
    if (token !== undefined) this.#tokens.set(held(token, 'register'), true);
  }
  unregister(token) { return this.#tokens.delete(held(token, 'unregister')); }
}

for (const c of [WeakRef, FinalizationRegistry]) {
  Object.defineProperty(c.prototype, Symbol.toStringTag, { value: c.name, configurable: true });
}
define(globalThis, { WeakRef, FinalizationRegistry });
