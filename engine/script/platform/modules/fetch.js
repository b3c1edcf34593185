// fetch, Request and Response. The network is in Go.
'use strict';

const { Headers } = require('#headers');
const { Body, bodies, extract, cloned, take, give } = require('#body');

const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'];
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const options = ['body', 'cache', 'credentials', 'duplex', 'headers', 'keepalive', 'method', 'mode', 'priority', 'redirect', 'referrer', 'referrerPolicy', 'signal', 'window'];

// checkOptions logs a warning if an option has no effect. It throws an error if the caller relies on the option for its
// security: integrity, and connections that lead to a proxy.
function checkOptions(init) {
  for (const name of Object.keys(init)) {
    const value = init[name];
    if (options.includes(name) || value === undefined || value === null || value === '' || value === false) continue;
    const proxy = typeof value === 'object' && (typeof value.connect === 'function' || value.proxy || /proxy|socks/i.test(value.constructor && value.constructor.name));
    if (name === 'integrity' || (name === 'agent' || name === 'dispatcher') && proxy) throw new TypeError('fetch: the option ' + name + ' is not supported');
    native.warn('fetch ignores an unknown option' + (name === 'timeout' ? '; use signal: AbortSignal.timeout(milliseconds)' : ''), name);
  }
}

class Request extends Body {
  #url; #method; #headers; #redirect; #signal;
  constructor(input, init = {}) {
    super();
    if (init === null) init = {};
    const from = input instanceof Request ? input : null;
    this.#url = from ? from.url : new URL(input).href;
    const method = String(init.method === undefined ? (from ? from.method : 'GET') : init.method);
    if (!token.test(method)) throw new TypeError('fetch: ' + JSON.stringify(method) + ' is no method');
    this.#method = methods.includes(method.toUpperCase()) ? method.toUpperCase() : method;
    this.#headers = new Headers(init.headers === undefined || init.headers === null ? (from ? from.headers : undefined) : init.headers);
    this.#redirect = init.redirect === undefined ? (from ? from.redirect : 'follow') : String(init.redirect);
    if (!['follow', 'error', 'manual'].includes(this.#redirect)) throw new TypeError("fetch: redirect is 'follow', 'error' or 'manual'");
    this.#signal = init.signal === undefined ? (from ? from.signal : null) : init.signal;
    if (this.#signal !== null && !(this.#signal instanceof AbortSignal)) throw new TypeError('fetch: signal is no AbortSignal');
    checkOptions(init);
    this.#take(init, from);
  }
  #take(init, from) {
    const given = init.body !== undefined && init.body !== null;
    if (given && (this.#method === 'GET' || this.#method === 'HEAD')) throw new TypeError('fetch: a request with the method ' + this.#method + ' has no body');
    const body = given ? extract(init.body) : null;
    let content = body ? { bytes: body.bytes, stream: body.stream, used: false } : { bytes: null, used: false };
    if (!given && from && bodies.get(from).bytes !== null) {
      const b = bodies.get(from);
      if (b.reader || b.stream) content = { stream: give(from), used: false };
      else content = { bytes: take(from), used: false };
    }
    bodies.set(this, content);
    if (body && body.type && !this.#headers.has('content-type')) this.#headers.set('content-type', body.type);
  }
  get url() { return this.#url; }
  get method() { return this.#method; }
  get headers() { return this.#headers; }
  get redirect() { return this.#redirect; }
  get signal() { return this.#signal; }
  clone() {
    const body = cloned(this), copy = new Request(this.#url, { method: this.#method, headers: this.#headers, redirect: this.#redirect, signal: this.#signal });
    bodies.set(copy, body);
    return copy;
  }
  get [Symbol.toStringTag]() { return 'Request'; }
}

const secret = {};

class Response extends Body {
  #status; #statusText; #headers; #url = ''; #redirected = false; #type = 'default';
  constructor(body, init = {}, key) {
    super();
    if (init === null) init = {};
    this.#status = init.status === undefined ? 200 : Number(init.status);
    this.#statusText = init.statusText === undefined ? '' : String(init.statusText);
    this.#headers = new Headers(init.headers === null ? undefined : init.headers);
    if (key === secret) {
      this.#url = init.url;
      this.#redirected = init.redirected;
      this.#type = init.type;
      bodies.set(this, body);
      return;
    }
    if (!(Number.isInteger(this.#status) && this.#status >= 200 && this.#status <= 599)) throw new RangeError('Response: the status must be from 200 to 599');
    const content = extract(body);
    if (content && [204, 205, 304].includes(this.#status)) throw new TypeError('Response: a body cannot go with status ' + this.#status);
    bodies.set(this, content ? { bytes: content.bytes, stream: content.stream, used: false } : { bytes: null, used: false });
    if (content && content.type && !this.#headers.has('content-type')) this.#headers.set('content-type', content.type);
  }
  static json(value, init = {}) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError('Response.json: the value is no JSON');
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...init, headers });
  }
  static error() { return new Response({ bytes: null, used: false }, { status: 0, url: '', redirected: false, type: 'error' }, secret); }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError('Response.redirect: the status must be one of a redirect');
    return new Response(null, { status, headers: { location: new URL(url).href } });
  }
  get status() { return this.#status; }
  get ok() { return this.#status >= 200 && this.#status <= 299; }
  get statusText() { return this.#statusText; }
  get headers() { return this.#headers; }
  get url() { return this.#url; }
  get redirected() { return this.#redirected; }
  get type() { return this.#type; }
  clone() {
    return new Response(cloned(this), { status: this.#status, statusText: this.#statusText, headers: this.#headers, url: this.#url, redirected: this.#redirected, type: this.#type }, secret);
  }
  get [Symbol.toStringTag]() { return 'Response'; }
}

// placed gives an error the position of the call of fetch in the script.
function placed(e, place) {
  Object.defineProperty(e, 'stack', { value: e.name + ': ' + e.message + '\n' + place.stack.slice(place.stack.indexOf('\n') + 1), writable: true, configurable: true });
  return e;
}

function failure(f, place) {
  if (f.timeout) return placed(new DOMException(f.error, 'TimeoutError'), place);
  const e = new TypeError(f.error);
  if (f.code) {
    Object.defineProperty(e, 'cause', { value: Object.assign(placed(new Error(f.reason), place), { code: f.code }), writable: true, configurable: true });
  }
  return placed(e, place);
}

function fetch(input, init) {
  const place = new Error();
  try {
    const request = new Request(input, init), headers = [];
    if (request.signal) request.signal.throwIfAborted();
    for (const [name, value] of request.headers) headers.push(name, value);
    const send = (body) => settled(native.send({ url: request.url, method: request.method, headers, body, redirect: request.redirect }), request.signal, place);
    if (bodies.get(request).bytes === null) return send(null);
    const body = take(request);
    return body instanceof ArrayBuffer ? send(body) : body.then(send);
  } catch (e) {
    return Promise.reject(e);
  }
}

function settled(work, signal, place) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      work.cancel();
      reject(signal.reason);
    };
    if (signal) signal.addEventListener('abort', stop);
    work.promise.then((r) => {
      const release = () => { if (signal) signal.removeEventListener('abort', stop); };
      if (!r.reader) release();
      if (r.error !== undefined) return reject(failure(r, place));
      const pairs = [];
      for (let i = 0; i < r.headers.length; i += 2) pairs.push([r.headers[i], r.headers[i + 1]]);
      const content = r.reader
        ? { reader: readerOf(r.reader, work, signal, place, release), used: false }
        : { bytes: r.body, used: false, broken: r.broken && (() => failure(r.broken, place)) };
      resolve(new Response(content, { ...r, headers: pairs, type: 'basic' }, secret));
    }, reject);
  });
}

// readerOf returns a reader of a body that is still arriving; see ofReader in body.js.
function readerOf(reader, work, signal, place, release) {
  const check = (r) => {
    if (r === null || r instanceof ArrayBuffer) return r;
    release();
    throw signal && signal.aborted ? signal.reason : failure(r, place);
  };
  return {
    async read() {
      const piece = check(await reader.read());
      if (piece === null) release();
      return piece;
    },
    async all() {
      const bytes = check(await reader.all());
      release();
      return bytes;
    },
    cancel() {
      release();
      work.cancel();
    },
  };
}

const connection = ['connection', 'content-length', 'date', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

// answer converts a Response to the form that handlers return. It returns undefined for any other value. Headers
// of the fetched connection are dropped.
function answer(value) {
  if (!(value instanceof Response)) return undefined;
  const headers = [];
  for (const [name, text] of value.headers) {
    if (!connection.includes(name)) headers.push(name + ': ' + text);
  }
  return { data: give(value), headers, status: value.status };
}

module.exports = { answer, fetch, Request, Response, Headers };
