// Headers of requests and responses.
'use strict';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function checkName(name) {
  name = String(name);
  if (!token.test(name)) throw new TypeError('Headers: ' + JSON.stringify(name) + ' is no name of a header');
  return name.toLowerCase();
}

function checkValue(value, name) {
  value = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\n\r]|[^\0-\xff]/.test(value)) throw new TypeError('Headers: the value of ' + name + ' has a line break or a character that headers cannot have; use encodeURIComponent');
  return value;
}

class Headers {
  #all = new Map(); // lists of values by lower-case name
  constructor(init) {
    if (init === undefined) return;
    if (init === null || typeof init !== 'object') throw new TypeError('Headers: expected an object or a list of [name, value]');
    if (typeof init[Symbol.iterator] === 'function') {
      for (const pair of init) {
        const [...both] = pair;
        if (both.length !== 2) throw new TypeError('Headers: expected pairs [name, value]');
        this.append(both[0], both[1]);
      }
    } else {
      for (const key of Object.keys(init)) this.append(key, init[key]);
    }
  }
  append(name, value) {
    const key = checkName(name), list = this.#all.get(key) || [];
    this.#all.set(key, [...list, checkValue(value, name)]);
  }
  set(name, value) { this.#all.set(checkName(name), [checkValue(value, name)]); }
  delete(name) { this.#all.delete(checkName(name)); }
  has(name) { return this.#all.has(checkName(name)); }
  get(name) {
    const list = this.#all.get(checkName(name));
    return list ? list.join(', ') : null;
  }
  getSetCookie() { return [...(this.#all.get('set-cookie') || [])]; }
  forEach(f, self) { for (const [name, value] of this) f.call(self, value, name, this); }
  *entries() {
    for (const name of [...this.#all.keys()].sort()) {
      const list = this.#all.get(name);
      if (name !== 'set-cookie') yield [name, list.join(', ')];
      else for (const value of list) yield [name, value];
    }
  }
  *keys() { for (const [name] of this.entries()) yield name; }
  *values() { for (const [, value] of this.entries()) yield value; }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return 'Headers ' + inspect(Object.fromEntries(this.entries()), options);
  }
  get [Symbol.toStringTag]() { return 'Headers'; }
}
Object.defineProperty(Headers.prototype, Symbol.iterator, { value: Headers.prototype.entries, writable: true, configurable: true });

module.exports = { Headers };
