// events as in Node.
'use strict';

function listener(f) {
  if (typeof f !== 'function') {
    const e = new TypeError('The "listener" argument must be of type function. Received ' + (f === null ? 'null' : typeof f));
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
  return f;
}

// EventEmitter is a function, not a class, because old code calls it without new.
function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

const errorMonitor = Symbol('events.errorMonitor');

const captureRejectionSymbol = Symbol.for('nodejs.rejection');

EventEmitter.init = function (options) {
  if (options?.captureRejections || EventEmitter.captureRejections) this._captures = true;
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) this._events = Object.create(null);
  this._maxListeners = this._maxListeners || undefined;
};
EventEmitter.prototype._events = undefined;
EventEmitter.prototype._maxListeners = undefined;
EventEmitter.defaultMaxListeners = 10;
EventEmitter.errorMonitor = errorMonitor;
EventEmitter.usingDomains = false;
EventEmitter.captureRejections = false;
EventEmitter.captureRejectionSymbol = captureRejectionSymbol;

function eventsOf(emitter) {
  if (!emitter._events) emitter._events = Object.create(null);
  return emitter._events;
}

function add(emitter, name, f, first) {
  const all = eventsOf(emitter);
  if (all.newListener) emitter.emit('newListener', name, f.listener ?? f);
  const old = all[name] || [], list = all[name] = old.slice(); // an emit in progress uses the old list
  list.warned = old.warned;
  if (first) list.unshift(f);
  else list.push(f);
  const most = emitter.getMaxListeners();
  if (most > 0 && list.length > most && !list.warned) {
    list.warned = true;
    console.warn('possible memory leak of an EventEmitter: ' + list.length + ' listeners of ' + String(name) + ' were added');
  }
  return emitter;
}

function onceOf(emitter, name, f) {
  const wrapped = function (...args) {
    emitter.removeListener(name, wrapped);
    return f.apply(emitter, args);
  };
  wrapped.listener = f;
  return wrapped;
}

function unhandled(args) {
  const e = args[0];
  if (e instanceof Error) return e;
  const wrapped = new Error('Unhandled error. (' + (typeof e === 'string' ? "'" + e + "'" : String(e)) + ')');
  wrapped.code = 'ERR_UNHANDLED_ERROR';
  wrapped.context = e;
  return wrapped;
}

// captureRejection passes the rejection of a listener's promise to the emitter.
function captureRejection(emitter, promise, name, args) {
  promise.then(undefined, (err) => process.nextTick(() => {
    if (typeof emitter[captureRejectionSymbol] === 'function') emitter[captureRejectionSymbol](err, name, ...args);
    else emitter.emit('error', err);
  }));
}

const methods = {
  emit(name, ...args) {
    const all = eventsOf(this);
    if (name === 'error') {
      for (const f of all[errorMonitor] || []) f.apply(this, args);
      if (!all.error || all.error.length === 0) throw unhandled(args);
    }
    const list = all[name];
    if (!list) return false;
    for (const f of list) {
      const result = f.apply(this, args);
      if (this._captures && result && typeof result.then === 'function') captureRejection(this, result, name, args);
    }
    return true;
  },
  on(name, f) { return add(this, name, listener(f), false); },
  prependListener(name, f) { return add(this, name, listener(f), true); },
  once(name, f) { return this.on(name, onceOf(this, name, listener(f))); }, // as in Node: streams override on
  prependOnceListener(name, f) { return this.prependListener(name, onceOf(this, name, listener(f))); },
  removeListener(name, f) {
    const all = eventsOf(this), list = all[listener(f) && name] || [];
    for (let i = list.length - 1; i >= 0; i--) {
      if (list[i] !== f && list[i].listener !== f) continue;
      if (list.length === 1) delete all[name];
      else all[name] = list.filter((_, at) => at !== i);
      if (all.removeListener) this.emit('removeListener', name, f);
      break;
    }
    return this;
  },
  removeAllListeners(name) {
    const all = eventsOf(this);
    if (!all.removeListener) {
      if (name === undefined) this._events = Object.create(null);
      else delete all[name];
      return this;
    }
    const names = name === undefined ? Reflect.ownKeys(all).filter((n) => n !== 'removeListener') : [name];
    for (const n of names) for (const f of (all[n] || []).slice().reverse()) this.removeListener(n, f);
    if (name === undefined) delete all.removeListener;
    return this;
  },
  listeners(name) { return (eventsOf(this)[name] || []).map((f) => f.listener ?? f); },
  rawListeners(name) { return (eventsOf(this)[name] || []).slice(); },
  listenerCount(name, f) {
    const list = eventsOf(this)[name] || [];
    return f === undefined ? list.length : list.filter((l) => l === f || l.listener === f).length;
  },
  eventNames() { return Reflect.ownKeys(eventsOf(this)); },
  setMaxListeners(n) {
    if (typeof n !== 'number' || !(n >= 0)) {
      const e = new RangeError('The value of "n" is out of range. It must be a non-negative number. Received ' + String(n));
      e.code = 'ERR_OUT_OF_RANGE';
      throw e;
    }
    this._maxListeners = n;
    return this;
  },
  getMaxListeners() { return this._maxListeners === undefined ? EventEmitter.defaultMaxListeners : this._maxListeners; },
};
methods.addListener = methods.on;
methods.off = methods.removeListener;
for (const [name, f] of Object.entries(methods)) {
  Object.defineProperty(EventEmitter.prototype, name, { value: f, writable: true, configurable: true, enumerable: true });
}

function aborted(signal) {
  const e = new Error('The operation was aborted', { cause: signal.reason });
  e.name = 'AbortError';
  e.code = 'ABORT_ERR';
  return e;
}

const isTarget = (t) => typeof t.on !== 'function' && typeof t.addEventListener === 'function';

// once returns a promise of the arguments of the next event.
EventEmitter.once = function (emitter, name, { signal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const stop = () => { off(); reject(aborted(signal)); };
    const done = (...args) => { off(); resolve(args); };
    const failed = (err) => { off(); reject(err); };
    const off = () => {
      signal?.removeEventListener('abort', stop);
      if (isTarget(emitter)) return emitter.removeEventListener(name, done);
      emitter.removeListener(name, done);
      emitter.removeListener('error', failed);
    };
    signal?.addEventListener('abort', stop);
    if (isTarget(emitter)) return emitter.addEventListener(name, done, { once: true });
    emitter.on(name, done);
    if (name !== 'error') emitter.on('error', failed);
  });
};

// on returns an asynchronous iterator of the arguments of all later events.
EventEmitter.on = function (emitter, name, { signal } = {}) {
  if (signal?.aborted) throw aborted(signal);
  const events = [], waiting = [];
  let failure, over = false;
  const done = (...args) => (waiting.length ? waiting.shift().resolve({ value: args, done: false }) : events.push(args));
  const failed = (err) => {
    off();
    if (waiting.length) waiting.shift().reject(err);
    else failure = err;
  };
  const stop = () => failed(aborted(signal));
  const off = () => {
    over = true;
    signal?.removeEventListener('abort', stop);
    emitter.removeListener(name, done);
    emitter.removeListener('error', failed);
    for (const w of waiting.splice(1)) w.resolve({ value: undefined, done: true });
  };
  emitter.on(name, done);
  if (name !== 'error') emitter.on('error', failed);
  signal?.addEventListener('abort', stop);
  return {
    next() {
      if (events.length) return Promise.resolve({ value: events.shift(), done: false });
      if (failure) {
        const err = failure;
        failure = undefined;
        return Promise.reject(err);
      }
      if (over) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      off();
      for (const w of waiting.splice(0)) w.resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    },
    throw(err) { failed(err); return Promise.resolve({ value: undefined, done: true }); },
    [Symbol.asyncIterator]() { return this; },
  };
};

EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
EventEmitter.getEventListeners = (emitter, name) => emitter.listeners(name);
EventEmitter.setMaxListeners = (n, ...emitters) => {
  if (emitters.length) for (const e of emitters) e.setMaxListeners(n);
  else EventEmitter.defaultMaxListeners = n;
};
EventEmitter.getMaxListeners = (emitter) => (typeof emitter.getMaxListeners === 'function' ? emitter.getMaxListeners() : EventEmitter.defaultMaxListeners);
EventEmitter.addAbortListener = (signal, f) => {
  if (signal.aborted) queueMicrotask(() => f());
  else signal.addEventListener('abort', f, { once: true });
  return { [Symbol.for('Symbol.dispose')]() { signal.removeEventListener('abort', f); } };
};
Object.defineProperty(EventEmitter, 'EventEmitterAsyncResource', {
  get() {
    const { AsyncResource } = require('async_hooks');
    class EventEmitterAsyncResource extends EventEmitter {
      constructor(options = {}) {
        super(options);
        this.asyncResource = new AsyncResource(typeof options === 'string' ? options : options.name || new.target.name);
      }
      emit(...args) { return this.asyncResource.runInAsyncScope(super.emit, this, ...args); }
      emitDestroy() { this.asyncResource.emitDestroy(); }
      get asyncId() { return this.asyncResource.asyncId(); }
    }
    Object.defineProperty(EventEmitter, 'EventEmitterAsyncResource', { value: EventEmitterAsyncResource, enumerable: true });
    return EventEmitterAsyncResource;
  }, enumerable: true, configurable: true,
});
EventEmitter.EventEmitter = EventEmitter;
module.exports = EventEmitter;
