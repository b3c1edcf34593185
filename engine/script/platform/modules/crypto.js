// crypto as in Node and browsers. The global, the module and webcrypto are one object. Keys, ciphers, derivations and
// SubtleCrypto are in files of their own, which are loaded when a script first uses them.
'use strict';

const { Buffer } = require('buffer');
const { addStream, coded, invalidType, data, out, text } = require('#crypto');

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

addStream(Hash, (hash, chunk, encoding) => void hash.update(chunk, encoding), (hash) => hash.digest());

const integers = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];

function randomInt(min, max, callback) {
  if (max === undefined || typeof max === 'function') [min, max, callback] = [0, min, max];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'randomInt: the bounds must be safe integers');
  if (max <= min || max - min > 0xffffffffffff) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'randomInt: max must be greater than min, by less than 2**48');
  const n = min + native.int(max - min);
  return typeof callback === 'function' ? void queueMicrotask(() => callback(null, n)) : n;
}

function randomBytes(size, callback) {
  if (typeof size !== 'number' || !(size >= 0)) throw invalidType('size', 'of type number');
  const bytes = Buffer.from(native.random(size));
  return typeof callback === 'function' ? void queueMicrotask(() => callback(null, bytes)) : bytes;
}

function randomFillSync(buffer, offset = 0, size) {
  if (!ArrayBuffer.isView(buffer) && !(buffer instanceof ArrayBuffer)) throw invalidType('buf', 'an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
  const width = buffer.BYTES_PER_ELEMENT || 1;
  if (typeof offset !== 'number') throw invalidType('offset', 'of type number');
  offset *= width;
  size = size === undefined ? buffer.byteLength - offset : size * width;
  if (!(offset >= 0 && offset <= buffer.byteLength)) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "offset" is out of range');
  if (!(size >= 0 && offset + size <= buffer.byteLength)) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "size" is out of range');
  native.fill(new Uint8Array(buffer.buffer || buffer, (buffer.byteOffset || 0) + offset, size));
  return buffer;
}

function randomFill(buffer, offset, size, callback) {
  if (typeof offset === 'function') [offset, size, callback] = [0, undefined, offset];
  else if (typeof size === 'function') [size, callback] = [undefined, size];
  if (typeof callback !== 'function') throw invalidType('callback', 'of type function');
  randomFillSync(buffer, offset, size);
  queueMicrotask(() => callback(null, buffer));
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
  randomFill,
  randomFillSync,
  getHashes() { return native.hashes(); },
  createHash(algorithm) { return new Hash(secret, native.hash(text(algorithm, 'algorithm'))); },
  createHmac(algorithm, key) {
    text(algorithm, 'hmac');
    const bytes = typeof key === 'string' || ArrayBuffer.isView(key) || key instanceof ArrayBuffer ? data(key, undefined, 'key') : require('#keys').keyHandle(key);
    if (bytes === undefined) throw invalidType('key', 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey');
    return new Hmac(secret, native.hmac(algorithm, bytes));
  },
  hash(algorithm, value, encoding = 'hex') { return crypto.createHash(algorithm).update(value).digest(encoding); },
  timingSafeEqual(a, b) { return native.equal(a, b); },
  get subtle() { return require('#subtle').subtle; },
  get webcrypto() { return crypto; },
  Hash,
  Hmac,
};

// The members of the other files.
const files = {
  '#derive': ['pbkdf2', 'pbkdf2Sync', 'hkdf', 'hkdfSync', 'scrypt', 'scryptSync'],
  '#keys': ['KeyObject', 'Sign', 'Verify', 'constants', 'createSecretKey', 'createPrivateKey', 'createPublicKey', 'createSign', 'createVerify', 'sign', 'verify',
    'publicEncrypt', 'privateDecrypt', 'generateKeyPair', 'generateKeyPairSync', 'generateKey', 'generateKeySync', 'diffieHellman', 'getCurves'],
  '#cipher': ['Cipheriv', 'Decipheriv', 'createCipheriv', 'createDecipheriv', 'getCiphers', 'getCipherInfo'],
};
for (const [file, names] of Object.entries(files)) {
  for (const name of names) {
    Object.defineProperty(crypto, name, {
      get() {
        const value = require(file)[name];
        Object.defineProperty(crypto, name, { value, writable: true, enumerable: true, configurable: true });
        return value;
      },
      set(value) { Object.defineProperty(crypto, name, { value, writable: true, enumerable: true, configurable: true }); },
      enumerable: true, configurable: true,
    });
  }
}

const instead = {
  createDiffieHellman: 'diffieHellman', createECDH: 'diffieHellman', getDiffieHellman: 'diffieHellman', privateEncrypt: 'sign', publicDecrypt: 'verify',
  createCipher: 'createCipheriv', createDecipher: 'createDecipheriv',
};
for (const name of Object.keys(instead)) {
  crypto[name] = () => { throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'crypto.' + name + ' is not supported; use crypto.' + instead[name]); };
}
Object.defineProperty(crypto, Symbol.toStringTag, { value: 'Crypto' });

module.exports = crypto;
