// crypto as in Node and browsers, as far as services need it. The global, the module and webcrypto are one object.
'use strict';

const { Buffer } = require('buffer');

const data = (value, encoding, name) => {
  if (typeof value === 'string') return Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value;
  const e = new TypeError('The "' + name + '" argument must be of type string or an instance of Buffer, TypedArray, or DataView');
  e.code = 'ERR_INVALID_ARG_TYPE';
  throw e;
};

const out = (bytes, encoding) => {
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding);
};

function coded(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

const secret = {};

class Hash {
  #native; #done = false;
  constructor(key, made) {
    if (key !== secret) throw new TypeError('Illegal constructor: use createHash or createHmac');
    this.#native = made;
  }
  update(value, encoding) {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#native.update(data(value, encoding, 'data'));
    return this;
  }
  digest(encoding) {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#done = true;
    return out(this.#native.digest(), encoding);
  }
  copy() {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    return new (this instanceof Hmac ? Hmac : Hash)(secret, this.#native.copy());
  }
}

class Hmac extends Hash {}

const integers = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];

function randomInt(min, max, callback) {
  if (max === undefined || typeof max === 'function') [min, max, callback] = [0, min, max];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'randomInt: the bounds must be safe integers');
  if (max <= min || max - min > 0xffffffffffff) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'randomInt: max must be greater than min, by less than 2**48');
  const n = min + native.int(max - min);
  return typeof callback === 'function' ? void queueMicrotask(() => callback(null, n)) : n;
}

function randomBytes(size, callback) {
  if (typeof size !== 'number' || !(size >= 0)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "size" argument must be of type number');
  const bytes = Buffer.from(native.random(size));
  return typeof callback === 'function' ? void queueMicrotask(() => callback(null, bytes)) : bytes;
}

const crypto = {
  randomUUID() { return native.uuid(); },
  getRandomValues(array) {
    if (!integers.some((C) => array instanceof C)) throw new DOMException('getRandomValues: expected a typed array of integers', 'TypeMismatchError');
    if (array.byteLength > 65536) throw new DOMException('getRandomValues: ' + array.byteLength + ' bytes are more than 65536', 'QuotaExceededError');
    native.fill(array);
    return array;
  },
  randomBytes,
  randomInt,
  randomFillSync(buffer, offset = 0, size = buffer.byteLength - offset) {
    native.fill(new Uint8Array(buffer.buffer || buffer, (buffer.byteOffset || 0) + offset, size));
    return buffer;
  },
  getHashes() { return native.hashes(); },
  createHash(algorithm) { return new Hash(secret, native.hash(String(algorithm))); },
  createHmac(algorithm, key) { return new Hmac(secret, native.hmac(String(algorithm), data(key, undefined, 'key'))); },
  hash(algorithm, value, encoding = 'hex') { return crypto.createHash(algorithm).update(value).digest(encoding); },
  timingSafeEqual(a, b) { return native.equal(a, b); },
  get subtle() { return require('#subtle').subtle; },
  get webcrypto() { return crypto; },
  Hash,
  Hmac,
};
for (const name of ['pbkdf2', 'pbkdf2Sync', 'hkdf', 'hkdfSync', 'scrypt', 'scryptSync']) {
  crypto[name] = (...args) => require('#derive')[name](...args);
}
const instead = {
  createCipheriv: '', createDecipheriv: '', createSign: '', createVerify: '', generateKeyPair: '', generateKeyPairSync: '', createDiffieHellman: '',
  publicEncrypt: '', privateDecrypt: '', sign: 'createHmac', verify: 'createHmac',
};
for (const name of Object.keys(instead)) {
  crypto[name] = () => {
    throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'crypto.' + name + ' is not supported' + (instead[name] ? '; use crypto.' + instead[name] : ''));
  };
}
Object.defineProperty(crypto, Symbol.toStringTag, { value: 'Crypto' });

module.exports = crypto;
