// Event, EventTarget, AbortController and AbortSignal, DOMException.
'use strict';

const codes = {
  IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5, NoModificationAllowedError: 7,
  NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10, InvalidStateError: 11, SyntaxError: 12, InvalidModificationError: 13,
  NamespaceError: 14, InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18, NetworkError: 19, AbortError: 20,
  URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24, DataCloneError: 25,
};

class DOMException extends Error {
  #name;
  constructor(message = '', options = 'Error') {
    super(String(message), typeof options === 'object' && options !== null && 'cause' in options ? { cause: options.cause } : undefined);
    this.#name = typeof options === 'object' && options !== null ? String(options.name === undefined ? 'Error' : options.name) : String(options);
  }
  get name() { return this.#name; }
  get code() { return codes[this.#name] || 0; }
  get [Symbol.toStringTag]() { return 'DOMException'; }
}
for (const [name, code] of Object.entries(codes)) {
  const key = name.replace(/Error$/, '').replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase() + '_ERR';
  Object.defineProperty(DOMException, key, { value: code, enumerable: true });
}

const state = new WeakMap(); // of events that are being dispatched

class Event {
  #type; #cancelable; #prevented = false; #time = native.now();
  constructor(type, { bubbles = false, cancelable = false, composed = false } = {}) {
    if (arguments.length === 0) throw new TypeError('The "type" argument must be specified');
    this.#type = String(type);
    this.#cancelable = Boolean(cancelable);
    state.set(this, { target: null, current: null, stopped: false, bubbles: Boolean(bubbles), composed: Boolean(composed), passive: false, running: false });
  }
  get type() { return this.#type; }
  get target() { return state.get(this).target; }
  get srcElement() { return this.target; }
  get currentTarget() { return state.get(this).current; }
  get eventPhase() { return state.get(this).current ? 2 : 0; }
  get bubbles() { return state.get(this).bubbles; }
  get composed() { return state.get(this).composed; }
  get cancelable() { return this.#cancelable; }
  get defaultPrevented() { return this.#prevented; }
  get returnValue() { return !this.#prevented; }
  get isTrusted() { return false; }
  get timeStamp() { return this.#time; }
  preventDefault() { if (this.#cancelable && !state.get(this).passive) this.#prevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { state.get(this).stopped = true; }
  composedPath() { const { current } = state.get(this); return current ? [current] : []; }
  get [Symbol.toStringTag]() { return 'Event'; }
}
for (const [name, value] of Object.entries({ NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 })) {
  Object.defineProperty(Event, name, { value, enumerable: true });
  Object.defineProperty(Event.prototype, name, { value, enumerable: true });
}

class CustomEvent extends Event {
  #detail;
  constructor(type, options = {}) {
    super(type, options);
    this.#detail = options.detail === undefined ? null : options.detail;
  }
  get detail() { return this.#detail; }
  get [Symbol.toStringTag]() { return 'CustomEvent'; }
}

class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) return;
    if (typeof listener !== 'function' && typeof listener !== 'object') throw new TypeError('The "listener" argument must be a function or an object with handleEvent');
    const { capture = false, once = false, passive = false, signal } = typeof options === 'object' && options !== null ? options : { capture: options };
    if (signal && signal.aborted) return;
    type = String(type);
    const list = this.#listeners.get(type) || [];
    if (list.some((l) => l.listener === listener && l.capture === Boolean(capture))) return;
    this.#listeners.set(type, [...list, { listener, capture: Boolean(capture), once: Boolean(once), passive: Boolean(passive) }]);
    if (signal) signal.addEventListener('abort', () => this.removeEventListener(type, listener, { capture }), { once: true });
  }
  removeEventListener(type, listener, options) {
    const capture = Boolean(typeof options === 'object' && options !== null ? options.capture : options);
    const list = this.#listeners.get(String(type));
    if (list) this.#listeners.set(String(type), list.filter((l) => l.listener !== listener || l.capture !== capture));
  }
  dispatchEvent(event) {
    const s = event instanceof Event && state.get(event);
    if (!s) throw new TypeError('The "event" argument must be an instance of Event');
    if (s.running) throw new DOMException('The event is already being dispatched', 'InvalidStateError');
    s.target = s.current = this;
    s.running = true;
    s.stopped = false;
    for (const l of this.#listeners.get(event.type) || []) {
      if (s.stopped) break;
      if (!(this.#listeners.get(event.type) || []).includes(l)) continue; // removed meanwhile
      if (l.once) this.removeEventListener(event.type, l.listener, { capture: l.capture });
      s.passive = l.passive;
      try {
        if (typeof l.listener === 'function') l.listener.call(this, event);
        else l.listener.handleEvent(event);
      } catch (e) {
        Promise.reject(e); // reported as an unhandled rejection
      }
      s.passive = false;
    }
    s.current = null;
    s.running = false;
    return !event.defaultPrevented;
  }
  get [Symbol.toStringTag]() { return 'EventTarget'; }
}

// handler adds the property on<type>, an assignable listener.
function handler(Class, type) {
  const set = new WeakMap();
  Object.defineProperty(Class.prototype, 'on' + type, {
    enumerable: true, configurable: true,
    get() { return set.get(this) || null; },
    set(f) {
      const before = set.get(this);
      if (before) this.removeEventListener(type, before);
      set.delete(this);
      if (typeof f === 'function') {
        set.set(this, f);
        this.addEventListener(type, f);
      }
    },
  });
}

const secret = {};
let abort; // abort(signal, reason)

class AbortSignal extends EventTarget {
  #aborted = false; #reason; #dependents = [];
  constructor(key) {
    super();
    if (key !== secret) throw new TypeError('Illegal constructor');
  }
  static {
    abort = (signal, reason) => {
      if (signal.#aborted) return;
      const all = [signal];
      for (const s of all) { // may grow meanwhile
        all.push(...s.#dependents.filter((d) => !d.#aborted && !all.includes(d)));
        s.#aborted = true;
        s.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
        reason = s.#reason;
      }
      for (const s of all) s.dispatchEvent(new Event('abort'));
    };
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  static abort(reason) {
    const s = new AbortSignal(secret);
    abort(s, reason);
    return s;
  }
  static timeout(milliseconds) {
    const ms = Number(milliseconds);
    if (!(ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) throw new RangeError('The value of "delay" is out of range. Received ' + milliseconds);
    const s = new AbortSignal(secret);
    native.later(ms, () => abort(s, new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
    return s;
  }
  static any(signals) {
    const all = [...signals], s = new AbortSignal(secret);
    for (const one of all) {
      if (!(one instanceof AbortSignal)) throw new TypeError('The "signals" argument must be a list of AbortSignals');
    }
    const done = all.find((one) => one.aborted);
    if (done) abort(s, done.reason);
    else for (const one of all) one.#dependents.push(s);
    return s;
  }
  get [Symbol.toStringTag]() { return 'AbortSignal'; }
}
handler(AbortSignal, 'abort');

class AbortController {
  #signal = new AbortSignal(secret);
  get signal() { return this.#signal; }
  abort(reason) { abort(this.#signal, reason); }
  get [Symbol.toStringTag]() { return 'AbortController'; }
}

module.exports = { DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController };
