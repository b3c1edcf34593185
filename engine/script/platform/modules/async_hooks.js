// async_hooks as in Node: AsyncLocalStorage and AsyncResource. The values of all storages are one Map, which is never
// changed, in the asynchronous context of the VM.
'use strict';

// within calls f with a Map as the context.
function within(context, f, self, args) {
  const before = native.get();
  native.set(context);
  try {
    return Reflect.apply(f, self, args);
  } finally {
    native.set(before);
  }
}

function changed(storage, value) {
  const next = new Map(native.get());
  next.set(storage, value);
  return next;
}

class AsyncLocalStorage {
  static bind(f) { return AsyncResource.bind(f); }
  static snapshot() {
    const context = native.get();
    return (f, ...args) => within(context, f, undefined, args);
  }
  run(store, f, ...args) { return within(changed(this, store), f, undefined, args); }
  exit(f, ...args) { return this.run(undefined, f, ...args); }
  enterWith(store) { native.set(changed(this, store)); }
  getStore() { return native.get()?.get(this); }
  disable() {
    if (native.get()?.has(this)) {
      const next = new Map(native.get());
      next.delete(this);
      native.set(next);
    }
  }
}

let last = 1;

class AsyncResource {
  #context = native.get();
  #id = ++last;
  constructor(type) {
    if (typeof type !== 'string') {
      throw Object.assign(new TypeError('The "type" argument must be of type string. Received ' + (type === null ? 'null' : typeof type)), { code: 'ERR_INVALID_ARG_TYPE' });
    }
  }
  static bind(f, type, self) { return new AsyncResource(type || f.name || 'bound-anonymous-fn').bind(f, self); }
  bind(f, self) {
    if (typeof f !== 'function') throw Object.assign(new TypeError('The "fn" argument must be of type function'), { code: 'ERR_INVALID_ARG_TYPE' });
    const resource = this;
    return Object.defineProperty(function (...args) {
      return resource.runInAsyncScope(f, self === undefined ? this : self, ...args);
    }, 'length', { value: f.length, configurable: true });
  }
  runInAsyncScope(f, self, ...args) { return within(this.#context, f, self, args); }
  emitDestroy() { return this; }
  asyncId() { return this.#id; }
  triggerAsyncId() { return 1; }
}

module.exports = {
  AsyncLocalStorage, AsyncResource, asyncWrapProviders: Object.freeze(Object.create(null)),
  executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}),
};
