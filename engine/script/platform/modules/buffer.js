// Buffer as in Node, over Uint8Array. Bytes are allocated, read and searched in Go. The limit of one call applies.
'use strict';

const { from: elements } = Array, { construct } = Reflect, Bytes = Uint8Array;

function refuse(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

function wrongType(name, expected, value) {
  const found = value === null || value === undefined ? String(value) : typeof value === 'object' || typeof value === 'function'
    ? 'an instance of ' + native.className(value) : 'type ' + typeof value + ' (' + String(value) + ')';
  return refuse(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "' + name + '" argument must be ' + expected + '. Received ' + found);
}

const isBytes = (v) => ArrayBuffer.isView(v) || v instanceof ArrayBuffer;
const over = (buffer, offset, length) => construct(Bytes, length === undefined ? [buffer, offset] : [buffer, offset, length], Buffer);

function size(n) {
  if (typeof n !== 'number') throw wrongType('size', 'of type number', n);
  if (!(n >= 0)) throw refuse(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "size" is out of range: ' + n);
  return n;
}

// Buffer can be called as a function and as a constructor, for old code.
function Buffer(value, encoding, length) {
  return typeof value === 'number' ? Buffer.alloc(value) : Buffer.from(value, encoding, length);
}
Object.setPrototypeOf(Buffer, Bytes);
Buffer.prototype = Object.create(Bytes.prototype, { constructor: { value: Buffer, writable: true, configurable: true } });

function copied(list) {
  const out = over(native.alloc(list.length), 0);
  for (let i = 0; i < list.length; i++) out[i] = list[i];
  return out;
}

const method = native.methods; // method(target, functions) adds functions that are not enumerable

method(Buffer, {
  from(value, encoding, length) {
    if (typeof value === 'string') return over(native.encode(value, encoding), 0);
    if (value instanceof ArrayBuffer) return over(value, encoding === undefined ? 0 : encoding, length);
    if (ArrayBuffer.isView(value)) return copied(value);
    if (value !== null && typeof value === 'object') {
      if (value.type === 'Buffer' && Array.isArray(value.data)) return copied(value.data);
      const plain = value.valueOf();
      if (plain !== value && plain !== null && plain !== undefined) return Buffer.from(plain, encoding, length);
      if (Array.isArray(value) || typeof value.length === 'number') return copied(value);
      if (typeof value[Symbol.toPrimitive] === 'function') return Buffer.from(value[Symbol.toPrimitive]('string'), encoding, length);
    }
    throw wrongType('first', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
  },
  alloc(n, fill, encoding) {
    const out = over(native.alloc(size(n)), 0);
    return fill === undefined || fill === 0 ? out : out.fill(fill, encoding);
  },
  allocUnsafe(n) { return over(native.alloc(size(n)), 0); },
  allocUnsafeSlow(n) { return over(native.alloc(size(n)), 0); },
  isBuffer(v) { return v instanceof Buffer; },
  isEncoding(name) { return typeof name === 'string' && native.known(name.toLowerCase()); },
  byteLength(value, encoding) {
    if (typeof value === 'string') return native.length(value, encoding);
    if (isBytes(value)) return value.byteLength;
    throw wrongType('string', 'of type string or an instance of Buffer or ArrayBuffer', value);
  },
  compare(a, b) { return native.compare(a, b); },
  concat(list, total) {
    if (!Array.isArray(list)) throw wrongType('list', 'an instance of Array', list);
    if (total === undefined) total = list.reduce((sum, part) => sum + part.length, 0);
    const out = Buffer.alloc(total);
    let at = 0;
    for (const part of list) {
      if (!(part instanceof Bytes)) throw wrongType('list[' + list.indexOf(part) + ']', 'an instance of Buffer or Uint8Array', part);
      if (at + part.length > total) {
        out.set(part.subarray(0, total - at), at);
        break;
      }
      out.set(part, at);
      at += part.length;
    }
    return out;
  },
});
Object.defineProperty(Buffer, 'poolSize', { value: 8192, writable: true, configurable: true });

// bound reads an argument that counts back if it is negative.
function bound(value, length, missing) {
  let n = value === undefined ? missing : Math.trunc(Number(value)) || 0;
  if (n < 0) n += length;
  return n < 0 ? 0 : n > length ? length : n;
}

// clamp reads an argument that must not be negative.
function clamp(value, max, missing) {
  const n = value === undefined ? missing : Math.trunc(Number(value)) || 0;
  return n < 0 ? 0 : n > max ? max : n;
}

function wanted(value, encoding) {
  if (typeof value === 'string') return Buffer.from(value, encoding);
  if (typeof value === 'number') return Buffer.from([value & 255]);
  if (value instanceof Bytes) return value;
  throw wrongType('value', 'of type number or string or an instance of Buffer or Uint8Array', value);
}

function search(buffer, value, offset, encoding, last) {
  if (typeof offset === 'string') { encoding = offset; offset = undefined; }
  const missing = last ? buffer.length - 1 : 0;
  let from = offset === undefined ? missing : Number(offset);
  from = from !== from ? missing : Math.trunc(from);
  if (from < 0) from += buffer.length;
  return native.find(buffer, wanted(value, encoding), from, last);
}

method(Buffer.prototype, {
  toString(encoding, start, end) {
    const from = clamp(start, this.length, 0), to = clamp(end, this.length, this.length);
    return to <= from ? '' : native.decode(from === 0 && to === this.length ? this : this.subarray(from, to), encoding);
  },
  toJSON() { return { type: 'Buffer', data: elements(this) }; },
  subarray(start, end) {
    const from = bound(start, this.length, 0), to = bound(end, this.length, this.length);
    return over(this.buffer, this.byteOffset + from, Math.max(0, to - from));
  },
  slice(start, end) { return this.subarray(start, end); },
  equals(other) {
    if (!(other instanceof Bytes)) throw wrongType('otherBuffer', 'an instance of Buffer or Uint8Array', other);
    return this === other || native.compare(this, other) === 0;
  },
  compare(other, otherStart, otherEnd, start, end) {
    if (!(other instanceof Bytes)) throw wrongType('target', 'an instance of Buffer or Uint8Array', other);
    const part = (b, s, e) => b.subarray(clamp(s, b.length, 0), clamp(e, b.length, b.length));
    return native.compare(part(this, start, end), part(other, otherStart, otherEnd));
  },
  indexOf(value, offset, encoding) { return search(this, value, offset, encoding, false); },
  lastIndexOf(value, offset, encoding) { return search(this, value, offset, encoding, true); },
  includes(value, offset, encoding) { return search(this, value, offset, encoding, false) >= 0; },
  write(text, offset, length, encoding) {
    if (typeof text !== 'string') throw wrongType('string', 'of type string', text);
    if (typeof offset === 'string') { encoding = offset; offset = undefined; length = undefined; }
    if (typeof length === 'string') { encoding = length; length = undefined; }
    const from = inside(offset === undefined ? 0 : offset, this.length, 0, 'offset');
    const room = length === undefined ? this.length - from : clamp(length, this.length - from, 0);
    return native.write(this.subarray(from, from + room), text, encoding);
  },
  copy(target, at, start, end) {
    if (!(target instanceof Bytes)) throw wrongType('target', 'an instance of Buffer or Uint8Array', target);
    const to = clamp(at, target.length, 0), from = clamp(start, this.length, 0);
    const n = Math.min(clamp(end, this.length, this.length) - from, target.length - to);
    if (n <= 0) return 0;
    target.set(this.subarray(from, from + n), to);
    return n;
  },
  fill(value, start, end, encoding) {
    if (typeof start === 'string') { encoding = start; start = undefined; end = undefined; }
    if (typeof end === 'string') { encoding = end; end = undefined; }
    const part = this.subarray(clamp(start, this.length, 0), clamp(end, this.length, this.length));
    const what = wanted(value === undefined || typeof value === 'boolean' ? Number(value) || 0 : value, encoding);
    if (what.length === 0 && typeof value === 'string' && value !== '') throw refuse(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'value' is invalid. Received '" + value + "'");
    native.fill(part, what);
    return this;
  },
  swap16() { return swap(this, 2); },
  swap32() { return swap(this, 4); },
  swap64() { return swap(this, 8); },
});
method(Buffer.prototype, { toLocaleString: Buffer.prototype.toString });

function swap(buffer, n) {
  if (buffer.length % n) throw refuse(RangeError, 'ERR_INVALID_BUFFER_SIZE', 'Buffer size must be a multiple of ' + 8 * n + '-bits');
  native.swap(buffer, n);
  return buffer;
}

function inside(offset, length, bytes, name) {
  if (typeof offset !== 'number') throw wrongType(name, 'of type number', offset);
  if (!Number.isInteger(offset) || offset < 0 || offset + bytes > length) {
    throw refuse(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "' + name + '" is out of range. It must be an integer from 0 to ' + (length - bytes) + '. Received ' + offset);
  }
  return offset;
}

function fits(value, kind, bytes) {
  if (kind === 'f') return Number(value);
  const big = kind === 'U' || kind === 'I';
  if (typeof value !== (big ? 'bigint' : 'number')) {
    if (big) throw wrongType('value', 'of type bigint', value);
    value = Number(value);
  }
  const [min, max] = ranges[kind + bytes];
  if (value < min || value > max) {
    throw refuse(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "value" is out of range. It must be >= ' + min + ' and <= ' + max + '. Received ' + value);
  }
  return value;
}

const ranges = {
  U8: [BigInt(0), BigInt('18446744073709551615')], I8: [BigInt('-9223372036854775808'), BigInt('9223372036854775807')],
};
for (let n = 1; n <= 6; n++) {
  ranges['u' + n] = [0, Math.pow(2, 8 * n) - 1];
  ranges['i' + n] = [-Math.pow(2, 8 * n - 1), Math.pow(2, 8 * n - 1) - 1];
}

function number(names, bytes, little, kind) {
  const read = function (offset = 0) {
    return native.get(this, inside(offset, this.length, bytes, 'offset'), bytes, little, kind);
  };
  const write = function (value, offset = 0) {
    value = fits(value, kind, bytes);
    native.set(this, inside(offset, this.length, bytes, 'offset'), bytes, little, kind, value);
    return offset + bytes;
  };
  named(names, read, write);
}

const numbers = {};

function named(names, read, write) {
  for (let i = 0; i < names.length; i++) {
    numbers['read' + names[i]] = read;
    numbers['write' + names[i]] = write;
  }
}

function sized(names, little, kind) {
  const check = (n) => inside(n, 7, 1, 'byteLength') || (() => { throw refuse(RangeError, 'ERR_OUT_OF_RANGE', 'byteLength must be from 1 to 6'); })();
  named(names, function (offset, n) {
    return native.get(this, inside(offset, this.length, check(n), 'offset'), n, little, kind);
  }, function (value, offset, n) {
    native.set(this, inside(offset, this.length, check(n), 'offset'), n, little, kind, fits(value, kind, n));
    return offset + n;
  });
}

number(['UInt8', 'Uint8'], 1, false, 'u');
number(['Int8'], 1, false, 'i');
for (let i = 0; i < 2; i++) {
  const order = i ? 'BE' : 'LE', little = !i;
  for (let bits = 16; bits <= 32; bits += 16) {
    number(['UInt' + bits + order, 'Uint' + bits + order], bits / 8, little, 'u');
    number(['Int' + bits + order], bits / 8, little, 'i');
  }
  number(['BigUInt64' + order, 'BigUint64' + order], 8, little, 'U');
  number(['BigInt64' + order], 8, little, 'I');
  number(['Float' + order], 4, little, 'f');
  number(['Double' + order], 8, little, 'f');
  sized(['UInt' + order, 'Uint' + order], little, 'u');
  sized(['Int' + order], little, 'i');
}
method(Buffer.prototype, numbers);

// The functions of Buffer can be listed, as in Node: old packages copy them to a class of their own. Some packages call
// Buffer.alloc with new, so it is no method.
for (const name of Object.getOwnPropertyNames(Buffer)) {
  const f = Buffer[name];
  if (typeof f === 'function' && name !== 'prototype') Object.defineProperty(Buffer, name, { value: f, writable: true, configurable: true, enumerable: true });
}
for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow', 'from']) {
  const f = Buffer[name];
  Buffer[name] = Object.defineProperties(function (...args) { return f.apply(Buffer, args); }, { name: { value: name }, length: { value: f.length } });
}

// The functions for one encoding: latin1Slice(start, end), latin1Write(text, offset, length) and so on.
const single = {};
for (const name of ['ascii', 'base64', 'base64url', 'hex', 'latin1', 'ucs2', 'utf8']) {
  single[name + 'Slice'] = function (start, end) { return this.toString(name, start, end); };
  single[name + 'Write'] = function (text, offset = 0, length = this.length - offset) { return this.write(text, offset, length, name); };
}
method(Buffer.prototype, single);

const limit = native.limit();
module.exports = {
  Buffer, kMaxLength: limit, constants: { MAX_LENGTH: limit, MAX_STRING_LENGTH: limit },
  isUtf8: native.isUtf8,
  isAscii: (bytes) => new Bytes(bytes.buffer || bytes, bytes.byteOffset || 0, bytes.byteLength).every((c) => c < 128),
  get atob() { return atob; },
  get btoa() { return btoa; },
  get Blob() { return require('#body').Blob; },
};
