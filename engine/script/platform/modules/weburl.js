// URL and URLSearchParams. Parsing and formatting are in Go.
'use strict';

const update = new WeakMap(); // update functions of the parameters that belong to a URL, called when they change

let reread; // reread(params, search)

class URLSearchParams {
  #list = []; // alternately names and values
  constructor(init = '') {
    if (init === null || typeof init !== 'object' && typeof init !== 'function') {
      this.#list = native.query(String(init).replace(/^\?/, ''));
    } else if (init instanceof URLSearchParams) {
      this.#list = [...init.#list];
    } else if (typeof init[Symbol.iterator] === 'function') {
      for (const pair of init) {
        const [...both] = pair;
        if (both.length !== 2) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
        this.#list.push(String(both[0]), String(both[1]));
      }
    } else {
      for (const key of Reflect.ownKeys(init)) {
        if (typeof key === 'string' && Object.prototype.propertyIsEnumerable.call(init, key)) this.#list.push(key, String(init[key]));
      }
    }
  }
  static {
    reread = (params, search) => { params.#list = native.query(search); };
  }
  #changed(list) {
    this.#list = list;
    const tell = update.get(this);
    if (tell) tell(this.toString());
  }
  #filter(keep) {
    const list = [];
    for (let i = 0; i < this.#list.length; i += 2) {
      if (keep(this.#list[i], this.#list[i + 1])) list.push(this.#list[i], this.#list[i + 1]);
    }
    return list;
  }
  get size() { return this.#list.length / 2; }
  append(name, value) { this.#changed([...this.#list, String(name), String(value)]); }
  delete(name, value) {
    name = String(name);
    this.#changed(this.#filter((n, v) => n !== name || value !== undefined && v !== String(value)));
  }
  get(name) {
    for (let i = 0; i < this.#list.length; i += 2) if (this.#list[i] === String(name)) return this.#list[i + 1];
    return null;
  }
  getAll(name) {
    const all = [];
    for (let i = 0; i < this.#list.length; i += 2) if (this.#list[i] === String(name)) all.push(this.#list[i + 1]);
    return all;
  }
  has(name, value) {
    return this.getAll(name).some((v) => value === undefined || v === String(value));
  }
  set(name, value) {
    name = String(name);
    let seen = false;
    const list = this.#filter((n) => n !== name || !seen && (seen = true));
    const at = list.findIndex((n, i) => i % 2 === 0 && n === name);
    if (at < 0) list.push(name, String(value));
    else list[at + 1] = String(value);
    this.#changed(list);
  }
  sort() {
    const pairs = [...this];
    pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed(pairs.flat());
  }
  forEach(f, self) {
    for (const [name, value] of this) f.call(self, value, name, this);
  }
  *entries() { for (let i = 0; i < this.#list.length; i += 2) yield [this.#list[i], this.#list[i + 1]]; }
  *keys() { for (let i = 0; i < this.#list.length; i += 2) yield this.#list[i]; }
  *values() { for (let i = 0; i < this.#list.length; i += 2) yield this.#list[i + 1]; }
  toString() { return native.form(this.#list); }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const all = [...this].map(([n, v]) => inspect(n) + ' => ' + inspect(v));
    return 'URLSearchParams {' + (all.length ? ' ' + all.join(', ') + ' ' : '') + '}';
  }
  get [Symbol.toStringTag]() { return 'URLSearchParams'; }
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });

function failure(input, base) {
  const e = new TypeError('Invalid URL');
  e.code = 'ERR_INVALID_URL';
  e.input = String(input);
  if (base !== undefined) e.base = String(base);
  return e;
}

const text = (v) => (v === undefined ? undefined : String(v));
const names = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];

class URL {
  #parts; #params;
  constructor(input, base) {
    if (arguments.length === 0) throw new TypeError('The "url" argument must be specified');
    this.#parts = native.parse(String(input), text(base));
    if (!this.#parts) throw failure(input, base);
  }
  static canParse(input, base) { return Boolean(native.parse(String(input), text(base))); }
  static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
  static createObjectURL() { throw new DOMException('URL.createObjectURL is not supported: there is nothing that could read such URLs', 'NotSupportedError'); }
  get searchParams() {
    if (!this.#params) {
      this.#params = new URLSearchParams(this.search);
      update.set(this.#params, (search) => { this.#parts = native.assign(this.href, 'search', search); });
    }
    return this.#params;
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
  static {
    names.forEach((name, i) => {
      Object.defineProperty(URL.prototype, name, {
        enumerable: true, configurable: true,
        get() { return this.#parts[i]; },
        set: name === 'origin' ? undefined : function (value) {
          const parts = name === 'href' ? native.parse(String(value)) : native.assign(this.href, name, String(value));
          if (!parts) throw failure(value);
          this.#parts = parts;
          if (this.#params && (name === 'search' || name === 'href')) reread(this.#params, this.search.slice(1));
        },
      });
    });
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const shown = {};
    for (const name of [...names, 'searchParams']) shown[name] = this[name];
    return 'URL ' + inspect(shown, options);
  }
  get [Symbol.toStringTag]() { return 'URL'; }
}

module.exports = { URL, URLSearchParams, hostToASCII: native.host };
