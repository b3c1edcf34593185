// SuppressedError, DisposableStack and AsyncDisposableStack.
function SuppressedError(error, suppressed, message) {
  const o = Reflect.construct(Error, message === undefined ? [] : [message], new.target || SuppressedError);
  define(o, { error, suppressed });
  return o;
}
Object.setPrototypeOf(SuppressedError, Error);
Object.defineProperty(SuppressedError, 'prototype', { value: Object.create(Error.prototype), writable: false });
define(SuppressedError.prototype, { constructor: SuppressedError, name: 'SuppressedError', message: '' });

function method(value, ...symbols) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) throw new TypeError('only objects can be disposed of');
  for (const s of symbols) {
    const f = value[s];
    if (f === undefined || f === null) continue;
    if (typeof f !== 'function') throw new TypeError('the method for disposing must be a function');
    // Only the first symbol is that of the stack itself: errors of a synchronous method reject the promise.
    return s === symbols[0] ? () => f.call(value) : () => new Promise((resolve) => { f.call(value); resolve(); });
  }
  throw new TypeError('the object has no method for disposing');
}

function callable(f) {
  if (typeof f !== 'function') throw new TypeError('the second argument must be a function');
}

// merge returns the error to throw after e: if another one was thrown before, a SuppressedError.
function merge(failed, e) { return { error: failed === undefined ? e : new SuppressedError(e, failed.error) }; }

class DisposableStack {
  #steps = [];
  #open() {
    if (this.#steps === undefined) throw new ReferenceError('the stack was disposed of');
    return this.#steps;
  }
  get disposed() { return this.#steps === undefined; }
  dispose() {
    const steps = this.#steps;
    if (steps === undefined) return;
    this.#steps = undefined;
    let failed;
    while (steps.length > 0) {
      try { steps.pop()(); } catch (e) { failed = merge(failed, e); }
    }
    if (failed !== undefined) throw failed.error;
  }
  use(value) {
    const steps = this.#open();
    if (value !== null && value !== undefined) steps.push(method(value, Symbol.dispose));
    return value;
  }
  adopt(value, onDispose) {
    const steps = this.#open();
    callable(onDispose);
    steps.push(() => onDispose(value));
    return value;
  }
  defer(onDispose) {
    const steps = this.#open();
    callable(onDispose);
    steps.push(() => onDispose());
  }
  move() {
    const steps = this.#open(), next = new DisposableStack();
    this.#steps = undefined;
    next.#steps = steps;
    return next;
  }
}

class AsyncDisposableStack {
  #steps = [];
  #open() {
    if (this.#steps === undefined) throw new ReferenceError('the stack was disposed of');
    return this.#steps;
  }
  get disposed() { return this.#steps === undefined; }
  async disposeAsync() {
    const steps = this.#steps;
    if (steps === undefined) return;
    this.#steps = undefined;
    let failed;
    while (steps.length > 0) {
      try { await steps.pop()(); } catch (e) { failed = merge(failed, e); }
    }
    if (failed !== undefined) throw failed.error;
  }
  use(value) {
    const steps = this.#open();
    steps.push(value === null || value === undefined ? () => {} : method(value, Symbol.asyncDispose, Symbol.dispose));
    return value;
  }
  adopt(value, onDisposeAsync) {
    const steps = this.#open();
    callable(onDisposeAsync);
    steps.push(() => onDisposeAsync(value));
    return value;
  }
  defer(onDisposeAsync) {
    const steps = this.#open();
    callable(onDisposeAsync);
    steps.push(() => onDisposeAsync());
  }
  move() {
    const steps = this.#open(), next = new AsyncDisposableStack();
    this.#steps = undefined;
    next.#steps = steps;
    return next;
  }
}

for (const [c, symbol, name] of [[DisposableStack, 'dispose', 'dispose'], [AsyncDisposableStack, 'asyncDispose', 'disposeAsync']]) {
  Object.defineProperty(c.prototype, Symbol[symbol], { value: c.prototype[name], writable: true, configurable: true });
  Object.defineProperty(c.prototype, Symbol.toStringTag, { value: c.name, configurable: true });
}
const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
Object.defineProperty(iterator, Symbol.dispose, { value: { [Symbol.dispose]() { this.return?.(); } }[Symbol.dispose], writable: true, configurable: true });
define(globalThis, { SuppressedError, DisposableStack, AsyncDisposableStack });
