// http as in Node: a client over fetch, under the same rules. A request is sent when it ends.
'use strict';

const EventEmitter = require('events');
const { Readable, Writable } = require('stream');
const { METHODS, STATUS_CODES } = require('#http-names');

const coded = (Class, code, message) => Object.assign(new Class(message), { code });

function validateHeaderName(name) {
  if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw coded(TypeError, 'ERR_INVALID_HTTP_TOKEN', 'Header name must be a valid HTTP token ["' + name + '"]');
}

function validateHeaderValue(name, value) {
  if (value === undefined) throw coded(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', 'Invalid value "undefined" for header "' + name + '"');
  if (/[^\t\x20-\x7e\x80-\xff]/.test(String(value))) throw coded(TypeError, 'ERR_INVALID_CHAR', 'Invalid character in header content ["' + name + '"]');
}

// An Agent has the options of connections. The connections are those of fetch, so most options have no effect.
function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  EventEmitter.call(this);
  this.options = { path: null, noDelay: true, ...options };
  this.defaultPort = 80;
  this.protocol = 'http:';
  this.requests = Object.create(null);
  this.sockets = Object.create(null);
  this.freeSockets = Object.create(null);
  this.keepAliveMsecs = this.options.keepAliveMsecs || 1000;
  this.keepAlive = this.options.keepAlive || false;
  this.maxSockets = this.options.maxSockets || Infinity;
  this.maxFreeSockets = this.options.maxFreeSockets || 256;
  this.scheduling = this.options.scheduling || 'lifo';
  this.maxTotalSockets = this.options.maxTotalSockets || Infinity;
  this.totalSocketCount = 0;
}
Object.setPrototypeOf(Agent.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Agent, EventEmitter);
Agent.defaultMaxSockets = Infinity;
Agent.prototype.destroy = function destroy() {};
Agent.prototype.keepSocketAlive = () => true;
Agent.prototype.reuseSocket = () => {};
Agent.prototype.getName = (o = {}) => (o.host || 'localhost') + ':' + (o.port || '') + ':' + (o.localAddress || '');
Agent.prototype.createConnection = function createConnection() {
  throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'http.Agent.createConnection is not supported: scripts open no connections; use the global fetch');
};

// refused are options that would change with whom a request speaks. Other options of connections have no effect.
const refused = ['socketPath', 'createConnection', 'lookup', 'localAddress', 'ca', 'cert', 'key', 'pfx', 'checkServerIdentity', 'servername'];

function checkOptions(options, where) {
  for (const name of refused) {
    if (options[name] !== undefined && options[name] !== null) {
      throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', where + ': the option ' + name + ' is not supported: requests are those of the global fetch, which chooses its connections');
    }
  }
  if (options.rejectUnauthorized === false) {
    throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', where + ': rejectUnauthorized: false is not supported: certificates are always verified');
  }
}

function checkAgent(agent) {
  if (!agent || !(agent instanceof Agent)) {
    if (agent && typeof agent === 'object') throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'http: an agent that is no http.Agent is not supported: requests are those of the global fetch');
    return;
  }
  if (typeof agent.connect === 'function' || agent.proxy) throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'http: an agent for a proxy is not supported: requests are those of the global fetch');
  const { lookup, ...rest } = agent.options || {};
  checkOptions({ ...rest, servername: undefined }, 'http.Agent');
}

// A Connection stands for the socket of a request.
class Connection extends EventEmitter {
  constructor(encrypted) {
    super();
    Object.assign(this, { encrypted, authorized: encrypted, destroyed: false, readable: true, writable: true, connecting: false });
  }
  setTimeout(ms, f) {
    if (f) this.once('timeout', f);
    return this;
  }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
  ref() { return this; }
  unref() { return this; }
  cork() {}
  uncork() {}
  address() { return {}; }
  end() { return this; }
  destroy() {
    this.destroyed = true;
    return this;
  }
}

function IncomingMessage(socket) {
  if (!(this instanceof IncomingMessage)) return new IncomingMessage(socket);
  Readable.call(this, { autoDestroy: true });
  Object.assign(this, {
    httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: '1.1', complete: false, aborted: false, headers: {}, rawHeaders: [], trailers: {}, rawTrailers: [],
    url: '', method: null, statusCode: null, statusMessage: null,
  });
  Object.defineProperty(this, 'socket', { value: socket, writable: true, configurable: true });
}
Object.setPrototypeOf(IncomingMessage.prototype, Readable.prototype);
Object.setPrototypeOf(IncomingMessage, Readable);
IncomingMessage.prototype._read = function _read() {};
IncomingMessage.prototype.setTimeout = function setTimeout(ms, f) {
  if (this.socket) this.socket.setTimeout(ms, f);
  return this;
};
Object.defineProperty(IncomingMessage.prototype, 'connection', { get() { return this.socket; }, configurable: true });
Object.defineProperty(IncomingMessage.prototype, 'headersDistinct', {
  get() { return Object.fromEntries(Object.entries(this.headers).map(([k, v]) => [k, [].concat(v)])); }, configurable: true,
});

// OutgoingMessage has the headers of a request.
function OutgoingMessage(options) {
  Writable.call(this, options);
  this._headers = new Map(); // [name, value] by name in lower case
  this.headersSent = false;
  this.sendDate = false;
}
Object.setPrototypeOf(OutgoingMessage.prototype, Writable.prototype);
Object.setPrototypeOf(OutgoingMessage, Writable);
Object.assign(OutgoingMessage.prototype, {
  setHeader(name, value) {
    if (this.headersSent) throw coded(Error, 'ERR_HTTP_HEADERS_SENT', 'Cannot set headers after they are sent to the client');
    validateHeaderName(name);
    for (const one of [].concat(value)) validateHeaderValue(name, one);
    this._headers.set(name.toLowerCase(), [name, value]);
    return this;
  },
  setHeaders(headers) {
    for (const [name, value] of headers) this.setHeader(name, value);
    return this;
  },
  appendHeader(name, value) {
    const old = this.getHeader(name);
    return this.setHeader(name, old === undefined ? value : [].concat(old, value));
  },
  getHeader(name) { return (this._headers.get(String(name).toLowerCase()) || [])[1]; },
  hasHeader(name) { return this._headers.has(String(name).toLowerCase()); },
  removeHeader(name) { this._headers.delete(String(name).toLowerCase()); },
  getHeaders() { return Object.assign(Object.create(null), Object.fromEntries([...this._headers].map(([name, [, value]]) => [name, value]))); },
  getHeaderNames() { return [...this._headers.keys()]; },
  getRawHeaderNames() { return [...this._headers.values()].map(([name]) => name); },
  flushHeaders() {},
  addTrailers() {},
});

function ServerResponse(request) {
  OutgoingMessage.call(this);
  this.req = request;
  throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'http.ServerResponse is not supported: return the answer from the route of the service');
}
Object.setPrototypeOf(ServerResponse.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ServerResponse, OutgoingMessage);
Object.assign(ServerResponse.prototype, {
  statusCode: 200, statusMessage: undefined, writeHead() { return this; }, writeContinue() {}, writeProcessing() {}, assignSocket() {}, detachSocket() {},
});

// dropped are the headers that fetch sets itself. They describe the connection, or the length of the body.
const dropped = ['accept-encoding', 'connection', 'content-length', 'expect', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'];

function targetOf(input, options, protocol) {
  if (typeof input === 'string') input = new URL(input);
  if (input instanceof URL) options = { ...require('url').urlToHttpOptions(input), ...options };
  else options = { ...input, ...options };
  const agent = options.agent;
  options.protocol = options.protocol || (agent && agent.protocol) || protocol;
  return options;
}

function ClientRequest(input, options, done, protocol = 'http:') {
  if (!(this instanceof ClientRequest)) return new ClientRequest(input, options, done, protocol);
  if (typeof options === 'function') [options, done] = [undefined, options];
  options = targetOf(input, options, protocol);
  if (options.protocol !== protocol) throw coded(TypeError, 'ERR_INVALID_PROTOCOL', 'Protocol "' + options.protocol + '" not supported. Expected "' + protocol + '"');
  const path = options.path || '/';
  if (/[^\x21-\xff]/.test(path)) throw coded(TypeError, 'ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters');
  const method = options.method === undefined || options.method === null ? 'GET' : options.method;
  if (typeof method !== 'string') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "options.method" property must be of type string');
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(method)) throw coded(TypeError, 'ERR_INVALID_HTTP_TOKEN', 'Method must be a valid HTTP token ["' + method + '"]');
  checkOptions(options, 'http.request');
  checkAgent(options.agent);
  OutgoingMessage.call(this, { autoDestroy: false, emitClose: false });
  const host = options.hostname || options.host || 'localhost', port = options.port || options.defaultPort;
  const usual = protocol === 'https:' ? 443 : 80, shown = host.includes(':') && host[0] !== '[' ? '[' + host + ']' : host;
  Object.assign(this, {
    method: method.toUpperCase(), path, host, protocol, agent: options.agent === undefined ? (protocol === 'https:' ? require('https') : module.exports).globalAgent : options.agent,
    aborted: false, finished: false, reusedSocket: false, maxHeadersCount: null, res: null, timeout: options.timeout, _parts: [], _control: new AbortController(),
  });
  this._authority = shown + (port && Number(port) !== usual ? ':' + port : '');
  const headers = options.headers || {};
  if (Array.isArray(headers)) {
    const pairs = Array.isArray(headers[0]) ? headers : headers.map((_, i) => headers.slice(i, i + 2)).filter((_, i) => i % 2 === 0);
    for (const [name, value] of pairs) this.setHeader(name, value);
  } else {
    for (const name of Object.keys(headers)) if (headers[name] !== undefined) this.setHeader(name, headers[name]);
  }
  if (options.auth && !this.hasHeader('Authorization')) this.setHeader('Authorization', 'Basic ' + Buffer.from(options.auth).toString('base64'));
  if (!this.hasHeader('Host') && options.setHost !== false) this.setHeader('Host', this._authority);
  if (done) this.once('response', done);
  if (options.timeout) this.setTimeout(options.timeout);
  if (options.signal) {
    const stop = () => this.destroy(Object.assign(new Error('The operation was aborted', { cause: options.signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' }));
    if (options.signal.aborted) process.nextTick(stop);
    else options.signal.addEventListener('abort', stop, { once: true });
  }
  this.socket = new Connection(protocol === 'https:');
  process.nextTick(() => {
    if (!this.destroyed) this.emit('socket', this.socket);
  });
}
Object.setPrototypeOf(ClientRequest.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ClientRequest, OutgoingMessage);
Object.assign(ClientRequest.prototype, {
  _write(chunk, encoding, done) {
    this._parts.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk));
    done();
  },
  _final(done) {
    this.finished = true;
    done();
    this._send();
  },
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    process.nextTick(() => this.emit('abort'));
    this.destroy();
  },
  _destroy(err, done) {
    clearTimeout(this._timer);
    this._control.abort();
    this.socket.destroy();
    if (!err && !this.res) err = coded(Error, 'ECONNRESET', 'socket hang up');
    if (this.res && !this.res.complete) {
      this.res.aborted = true;
      this.res.destroy(err || coded(Error, 'ECONNRESET', 'aborted'));
      err = null;
    }
    done(err);
    process.nextTick(() => this.emit('close'));
  },
  setTimeout(ms, f) {
    if (f) this.once('timeout', f);
    clearTimeout(this._timer);
    if (ms > 0) {
      this._timer = setTimeout(() => {
        this.emit('timeout');
        this.socket.emit('timeout');
      }, ms);
    }
    return this;
  },
  setNoDelay() {},
  setSocketKeepAlive() {},
  onSocket() {},
  _send() {
    if (this.destroyed) return;
    this.headersSent = true;
    const headers = new Headers();
    for (const [key, [name, value]] of this._headers) {
      if (dropped.includes(key) || (key === 'host' && String(value).toLowerCase() === this._authority.toLowerCase())) continue;
      for (const one of [].concat(value)) headers.append(name, String(one));
    }
    const body = this._parts.length && this.method !== 'GET' && this.method !== 'HEAD' ? Buffer.concat(this._parts) : undefined;
    this._parts = [];
    fetch(this.protocol + '//' + this._authority + this.path, { method: this.method, headers, body, redirect: 'manual', signal: this._control.signal })
      .then((r) => this._receive(r))
      .catch((e) => { if (!this.destroyed) this.destroy(explained(e)); });
  },
  async _receive(r) {
    const m = new IncomingMessage(this.socket);
    Object.assign(m, { statusCode: r.status, statusMessage: r.statusText || STATUS_CODES[r.status] || '', req: this, client: this.socket });
    for (const [name, value] of r.headers) {
      m.rawHeaders.push(name, value);
      if (name === 'set-cookie') (m.headers[name] || (m.headers[name] = [])).push(value);
      else m.headers[name] = value;
    }
    this.res = m;
    if (this.destroyed) return;
    if (!this.emit('response', m)) m.resume();
    try {
      const bytes = Buffer.from(await r.arrayBuffer());
      clearTimeout(this._timer);
      if (this.destroyed) return;
      for (let i = 0; i < bytes.length; i += 65536) m.push(bytes.subarray(i, i + 65536));
      m.complete = true;
      m.push(null);
      this.destroyed = true;
      this.emit('close');
    } catch (e) {
      m.destroy(explained(e));
    }
  },
});
Object.defineProperty(ClientRequest.prototype, 'connection', { get() { return this.socket; }, configurable: true });

// explained returns the error of a connection with its code, as Node does.
function explained(e) {
  const cause = e && e.cause;
  if (!cause || !cause.code) return e;
  const made = new Error(cause.code + ': ' + e.message);
  return Object.assign(made, { code: cause.code, errno: require('#errno').errno[cause.code], syscall: 'connect' });
}

function makeClient(protocol) {
  const request = (input, options, done) => new ClientRequest(input, options, done, protocol);
  return {
    request,
    get(input, options, done) {
      const r = request(input, options, done);
      r.end();
      return r;
    },
  };
}

const most = 16 * 1024;
module.exports = {
  METHODS, STATUS_CODES, Agent, ClientRequest, IncomingMessage, OutgoingMessage, ServerResponse, validateHeaderName, validateHeaderValue,
  ...makeClient('http:'), maxHeaderSize: most, globalAgent: new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 }), setMaxIdleHTTPParsers() {},
};
Object.defineProperty(module.exports, '_makeClient', { value: makeClient });
