// Blob, File, FormData, and bodies of requests and responses.
'use strict';

const content = new WeakMap(); // the ArrayBuffer of a Blob

class Blob {
  #type;
  constructor(parts = [], { type = '' } = {}) {
    if (parts === null || typeof parts !== 'object' || typeof parts[Symbol.iterator] !== 'function') throw new TypeError('Blob: expected a list of parts');
    content.set(this, native.join(Array.from(parts, (part) => (part instanceof Blob ? content.get(part) : isBytes(part) ? part : String(part)))));
    this.#type = /^[\x20-\x7e]*$/.test(type) ? String(type).toLowerCase() : '';
  }
  get size() { return content.get(this).byteLength; }
  get type() { return this.#type; }
  slice(start = 0, end = this.size, type = '') { return new Blob([content.get(this).slice(start, end)], { type }); }
  async arrayBuffer() { return content.get(this).slice(0); }
  async bytes() { return new Uint8Array(content.get(this).slice(0)); }
  async text() { return native.decode(content.get(this)); }
  stream() { return ofBytes(content.get(this)); }
  get [Symbol.toStringTag]() { return 'Blob'; }
}

class File extends Blob {
  #name; #lastModified;
  constructor(parts, name, { type = '', lastModified = Date.now() } = {}) {
    if (arguments.length < 2) throw new TypeError('File: expected parts and a name');
    super(parts, { type });
    this.#name = String(name);
    this.#lastModified = Number(lastModified);
  }
  get name() { return this.#name; }
  get lastModified() { return this.#lastModified; }
  get [Symbol.toStringTag]() { return 'File'; }
}

const isBytes = (v) => v instanceof ArrayBuffer || ArrayBuffer.isView(v);

// pieceBytes is the size of the chunks of a stream over bytes in memory.
const pieceBytes = 65536;

// ofBytes returns a stream over the bytes of an ArrayBuffer.
function ofBytes(buffer) {
  let at = 0;
  return new (require('#streams').ReadableStream)({
    type: 'bytes',
    pull(controller) {
      const piece = new Uint8Array(buffer.slice(at, at + pieceBytes));
      at += piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      if (at >= buffer.byteLength) {
        controller.close();
        if (controller.byobRequest) controller.byobRequest.respond(0);
      }
    },
  }, { highWaterMark: 0 });
}

// ofReader returns a stream over a reader: {read(), cancel()}. read returns a promise of an ArrayBuffer, or of null at
// the end.
function ofReader(reader) {
  return new (require('#streams').ReadableStream)({
    type: 'bytes',
    async pull(controller) {
      const piece = await reader.read();
      if (piece !== null) {
        controller.enqueue(new Uint8Array(piece));
        return;
      }
      controller.close();
      if (controller.byobRequest) controller.byobRequest.respond(0);
    },
    cancel() { reader.cancel(); },
  }, { highWaterMark: 0 });
}

// incoming returns the body of a request, a ReadableStream, as a stream of Node.
function incoming(stream) {
  const { Readable } = require('stream'), reader = stream.getReader();
  return new Readable({
    read() {
      reader.read().then(({ done, value }) => {
        this.push(done ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      }).catch((e) => this.destroy(e));
    },
    destroy(e, done) { reader.cancel(e).then(() => done(e), () => done(e)); },
  });
}

// collect returns the bytes of a stream.
async function collect(stream) {
  const parts = [], reader = stream.getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return native.join(parts);
    if (!(value instanceof Uint8Array)) throw new TypeError('a chunk of a body is a Uint8Array');
    native.checkSize(size += value.length);
    parts.push(value);
  }
}

class FormData {
  #list = [];
  constructor(form) { if (form !== undefined) throw new TypeError('FormData takes no arguments: there are no forms here'); }
  static #entry(name, value, filename) {
    if (!(value instanceof Blob)) return [String(name), String(value)];
    if (!(value instanceof File) || filename !== undefined) {
      value = new File([value], filename === undefined ? 'blob' : filename, { type: value.type });
    }
    return [String(name), value];
  }
  append(name, value, filename) { this.#list.push(FormData.#entry(name, value, filename)); }
  set(name, value, filename) {
    const entry = FormData.#entry(name, value, filename), at = this.#list.findIndex(([n]) => n === entry[0]);
    if (at < 0) this.#list.push(entry);
    else {
      this.#list[at] = entry;
      this.#list = this.#list.filter(([n], i) => i <= at || n !== entry[0]);
    }
  }
  delete(name) { this.#list = this.#list.filter(([n]) => n !== String(name)); }
  get(name) {
    const found = this.#list.find(([n]) => n === String(name));
    return found ? found[1] : null;
  }
  getAll(name) { return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v); }
  has(name) { return this.#list.some(([n]) => n === String(name)); }
  forEach(f, self) { for (const [name, value] of this) f.call(self, value, name, this); }
  *entries() { for (const [name, value] of this.#list) yield [name, value]; }
  *keys() { for (const [name] of this.#list) yield name; }
  *values() { for (const [, value] of this.#list) yield value; }
  get [Symbol.toStringTag]() { return 'FormData'; }
}
Object.defineProperty(FormData.prototype, Symbol.iterator, { value: FormData.prototype.entries, writable: true, configurable: true });

// multipart encodes a form as defined by RFC 7578 and as browsers do.
function multipart(form) {
  const boundary = native.boundary(), parts = [];
  const escaped = (s) => s.replace(/\r\n|\r|\n/g, '\r\n').replace(/\r\n/g, '%0D%0A').replace(/"/g, '%22');
  for (const [name, value] of form) {
    parts.push('--' + boundary + '\r\nContent-Disposition: form-data; name="' + escaped(name) + '"');
    if (typeof value === 'string') parts.push('\r\n\r\n' + value.replace(/\r\n|\r|\n/g, '\r\n') + '\r\n');
    else parts.push('; filename="' + escaped(value.name) + '"\r\nContent-Type: ' + (value.type || 'application/octet-stream') + '\r\n\r\n', content.get(value), '\r\n');
  }
  parts.push('--' + boundary + '--\r\n');
  return { bytes: native.join(parts), type: 'multipart/form-data; boundary=' + boundary };
}

// extract returns {bytes, type} or {stream, type} of a value that is given as a body, or null if there is none.
function extract(body) {
  if (body === undefined || body === null) return null;
  if (typeof body === 'string') return { bytes: native.encode(body), type: 'text/plain;charset=UTF-8' };
  if (isBytes(body)) return { bytes: native.join([body]), type: '' };
  if (body instanceof Blob) return { bytes: content.get(body), type: body.type };
  if (body instanceof FormData) return multipart(body);
  if (body instanceof URLSearchParams) return { bytes: native.encode(String(body)), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (typeof body === 'object' && typeof body.getReader === 'function') {
    if (body.locked || body._disturbed) throw new TypeError('the body is a stream that is locked or has been read');
    return { stream: body, type: '' };
  }
  if (typeof body === 'object' && typeof body[Symbol.asyncIterator] === 'function') return { stream: require('#streams').ReadableStream.from(body), type: '' };
  if (typeof body === 'object' && body.toString === Object.prototype.toString || Array.isArray(body)) {
    throw new TypeError('the body is an object; send JSON.stringify(body), and the header Content-Type: application/json');
  }
  return { bytes: native.encode(String(body)), type: 'text/plain;charset=UTF-8' };
}

// bodies contains {bytes, reader, stream, used, broken} of requests and responses. If there is no body, bytes is null.
// Otherwise the content is bytes, or comes from a reader of Go, or from a stream.
const bodies = new WeakMap();

const isUsed = (b) => b.used || (b.stream !== undefined && b.stream._disturbed);

function checkUsable(b) {
  if (isUsed(b) || (b.stream !== undefined && b.stream.locked)) throw new TypeError('Body is unusable: Body has already been read');
}

// take returns the bytes of a body, or a promise of them. It throws if the body was read before.
function take(owner) {
  const b = bodies.get(owner);
  checkUsable(b);
  if (b.bytes === null) return new ArrayBuffer(0);
  b.used = true;
  if (b.broken) throw b.broken();
  if (b.stream) return collect(b.stream);
  return b.reader ? b.reader.all() : b.bytes;
}

// streamOf returns the stream of a body, which it makes at the first use.
function streamOf(b) {
  if (b.stream === undefined) b.stream = b.reader ? ofReader(b.reader) : ofBytes(b.bytes);
  return b.stream;
}

// give returns the content of a body that is sent to a client: bytes, or a stream.
function give(owner) {
  const b = bodies.get(owner);
  if (!b.reader && !b.stream) return take(owner);
  checkUsable(b);
  const stream = streamOf(b);
  b.used = true;
  return stream;
}

// Body is the common base of Request and Response.
class Body {
  get body() {
    const b = bodies.get(this);
    return b.bytes === null ? null : streamOf(b);
  }
  get bodyUsed() { return isUsed(bodies.get(this)); }
  async arrayBuffer() { return take(this); }
  async bytes() { return new Uint8Array(await take(this)); }
  async text() { return native.decode(await take(this)); }
  async json() { return JSON.parse(native.decode(await take(this))); }
  async blob() { return new Blob([await take(this)], { type: this.headers.get('content-type') || '' }); }
  async formData() {
    const type = this.headers.get('content-type') || '', form = new FormData();
    if (/^application\/x-www-form-urlencoded/i.test(type)) {
      new URLSearchParams(native.decode(await take(this))).forEach((value, name) => form.append(name, value));
      return form;
    }
    const parts = /^multipart\/form-data/i.test(type) ? native.multipart(await take(this), type) : undefined;
    if (!parts) throw new TypeError('formData: the body is no form');
    for (const [name, file, kind, bytes] of parts) {
      if (file === null) form.append(name, native.decode(bytes));
      else form.append(name, new File([bytes], file, { type: kind }));
    }
    return form;
  }
}

// cloned returns a copy of a body for a second reader.
function cloned(owner) {
  const b = bodies.get(owner);
  if (isUsed(b) || (b.stream && b.stream.locked)) throw new TypeError('clone: the body has already been read');
  if (!b.reader && !b.stream) return { bytes: b.bytes && b.bytes.slice(0), used: false, broken: b.broken };
  const [own, other] = streamOf(b).tee();
  b.stream = own;
  return { stream: other, used: false };
}

module.exports = { Blob, File, FormData, Body, bodies, extract, cloned, take, give, ofReader, incoming };
