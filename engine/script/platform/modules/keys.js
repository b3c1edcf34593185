// The keys, signatures and RSA ciphers of the module crypto of Node.
'use strict';

const { Buffer } = require('buffer');
const { addStream, coded, invalidType, isBytes, data, out, integer, text, callLater } = require('#crypto');

const secret = {};

const constants = {
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_AUTO: -2, RSA_PSS_SALTLEN_MAX_SIGN: -2,
};

// handleOf returns the Go value of a KeyObject or a CryptoKey, or undefined.
let handleOf;

class KeyObject {
  #handle;
  static { handleOf = (key) => (key instanceof KeyObject && #handle in key ? key.#handle : undefined); }
  constructor(key, handle) {
    if (key !== secret) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'Illegal constructor: use createSecretKey, createPublicKey or createPrivateKey');
    this.#handle = handle;
  }
  static from(key) {
    const subtle = require('#subtle');
    if (!subtle.isCryptoKey(key)) throw invalidType('key', 'an instance of CryptoKey');
    return wrap(subtle.material(key));
  }
  get type() { return native.describe(this.#handle).type; }
  equals(other) {
    if (!(other instanceof KeyObject)) throw invalidType('otherKeyObject', 'an instance of KeyObject');
    return native.equal(this.#handle, other.#handle);
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) { return this.constructor.name + ' ' + inspect({}, options); }
}
Object.defineProperty(KeyObject.prototype, Symbol.toStringTag, { value: 'KeyObject', configurable: true });

class SecretKeyObject extends KeyObject {
  get symmetricKeySize() { return native.describe(handleOf(this)).size; }
  export(options) {
    if (options !== undefined) {
      const format = options.format;
      if (format === 'jwk') return native.jwk(handleOf(this));
      if (format !== undefined && format !== 'buffer') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.format' must be one of: undefined, 'buffer', 'jwk'");
    }
    return out(native.bytes(handleOf(this)));
  }
}

const encodings = { public: ['pkcs1', 'spki'], private: ['pkcs1', 'pkcs8', 'sec1'] };

class AsymmetricKeyObject extends KeyObject {
  get asymmetricKeyType() { return native.describe(handleOf(this)).family; }
  get asymmetricKeyDetails() {
    const { family, modulusLength, exponent, namedCurve } = native.describe(handleOf(this));
    return family === 'rsa' ? { modulusLength, publicExponent: BigInt(exponent) } : family === 'ec' ? { namedCurve } : {};
  }
  export(options) {
    if (typeof options !== 'object' || options === null) throw invalidType('options', 'of type object');
    return exportAs(handleOf(this), this.type, options);
  }
}

class PublicKeyObject extends AsymmetricKeyObject {}
class PrivateKeyObject extends AsymmetricKeyObject {}

function exportAs(handle, kind, { format, type, cipher, passphrase }) {
  if (format === 'jwk') return native.jwk(handle);
  if (format !== 'pem' && format !== 'der') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.format' must be one of: 'pem', 'der', 'jwk'");
  if (!encodings[kind].includes(type)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.type' must be one of: " + encodings[kind].join(', '));
  if (cipher !== undefined || passphrase !== undefined) {
    throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'keys cannot be exported with a passphrase; encrypt the key with createCipheriv');
  }
  const result = native.export(handle, type, format === 'pem');
  if (result === undefined) {
    throw coded(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', 'The selected key encoding ' + type + ' does not support this type of key');
  }
  return typeof result === 'string' ? result : out(result);
}

const classes = { secret: SecretKeyObject, public: PublicKeyObject, private: PrivateKeyObject };
const wrap = (handle) => new classes[native.describe(handle).type](secret, handle);

// keyHandle returns the Go value of any object that holds a key.
function keyHandle(key) {
  const handle = handleOf(key);
  if (handle) return handle;
  const subtle = require('#subtle');
  return subtle.isCryptoKey(key) ? subtle.material(key) : undefined;
}

const needed = { RSA: ['n', 'e'], EC: ['crv', 'x', 'y'], OKP: ['crv', 'x'] }; // members of a JWK

// parse reads a key that is given as Node allows: a text or bytes in PEM, or an object with the key and its format.
function parse(input, needsPrivate) {
  if (typeof input === 'string' || isBytes(input)) return native.parse('pem', '', data(input, 'utf8', 'key'));
  if (typeof input !== 'object' || input === null) {
    throw invalidType('key', 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey');
  }
  const { key, format = 'pem', type, encoding, passphrase } = input;
  if (format === 'jwk') {
    if (typeof key !== 'object' || key === null) throw invalidType('key.key', 'of type object');
    if (!needed[key.kty]) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'key.kty' must be one of: 'RSA', 'EC', 'OKP'");
    for (const name of needed[key.kty]) if (typeof key[name] !== 'string') throw invalidType('key.' + name, 'of type string');
    return native.parse('jwk', '', key);
  }
  if (typeof key !== 'string' && !isBytes(key)) {
    throw invalidType('key.key', 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey');
  }
  if (format !== 'pem' && format !== 'der') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'key.format' is invalid");
  if (passphrase !== undefined && typeof passphrase !== 'string' && !isBytes(passphrase)) throw invalidType('key.passphrase', 'of type string or bytes');
  if (format === 'der' && !['pkcs1', 'pkcs8', 'sec1', 'spki'].includes(type)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'key.type' is invalid");
  const kind = type === 'pkcs1' && needsPrivate ? 'pkcs1-private' : String(type);
  return native.parse(format, kind, data(key, encoding, 'key.key'));
}

// privateHandle returns the private key of an argument.
function privateHandle(input) {
  const given = keyHandle(input) || (input && keyHandle(input.key));
  const handle = given || parse(input, true);
  const { type } = native.describe(handle);
  if (type !== 'private') {
    if (given) throw coded(TypeError, 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', 'Invalid key object type ' + type + ', expected private.');
    throw coded(Error, 'ERR_OSSL_UNSUPPORTED', 'the key is not a private key');
  }
  return handle;
}

// publicHandle returns the public key of an argument, which may be a private key too.
function publicHandle(input) {
  const given = keyHandle(input) || (input && keyHandle(input.key));
  const handle = given || parse(input, false);
  const { type } = native.describe(handle);
  if (type === 'secret') throw coded(TypeError, 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', 'Invalid key object type secret, expected private or public.');
  return type === 'private' ? native.public(handle) : handle;
}

function createSecretKey(key, encoding) {
  if (typeof key !== 'string' && !isBytes(key)) throw invalidType('key', 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
  return wrap(native.secret(data(key, encoding, 'key')));
}

function createPrivateKey(input) {
  if (keyHandle(input)) throw invalidType('key', 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
  return wrap(privateHandle(input));
}

function createPublicKey(input) {
  const handle = keyHandle(input) || (input && keyHandle(input.key));
  if (handle && native.describe(handle).type !== 'private') {
    throw coded(TypeError, 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', 'Invalid key object type ' + native.describe(handle).type + ', expected private.');
  }
  return wrap(publicHandle(input));
}

// signing returns the arguments digest, pss, saltLength and p1363 of the Go functions for options of a signature.
function signing(options, digest, verifies) {
  const { padding, saltLength, dsaEncoding = 'der' } = typeof options === 'object' && options !== null ? options : {};
  if (dsaEncoding !== 'der' && dsaEncoding !== 'ieee-p1363') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.dsaEncoding' is invalid");
  if (padding !== undefined && !Number.isInteger(padding)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.padding' is invalid");
  if (saltLength !== undefined && !Number.isInteger(saltLength)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.saltLength' is invalid");
  if (padding !== undefined && padding !== constants.RSA_PKCS1_PADDING && padding !== constants.RSA_PKCS1_PSS_PADDING) {
    throw coded(Error, 'ERR_OSSL_RSA_ILLEGAL_OR_UNSUPPORTED_PADDING_MODE', 'illegal or unsupported padding mode');
  }
  return [digest || '', padding === constants.RSA_PKCS1_PSS_PADDING, saltLength === undefined ? constants.RSA_PSS_SALTLEN_AUTO : saltLength, dsaEncoding !== 'der'];
}

// Signer is the common base of Sign and Verify: it hashes the data.
class Signer {
  #hash; #digest;
  constructor(digest) {
    this.#digest = text(digest, 'algorithm');
    this.#hash = native.hash(digest);
  }
  static finish(signer) {
    return [signer.#hash.digest(), signer.#digest];
  }
  update(value, encoding) {
    this.#hash.update(data(value, encoding, 'data'));
    return this;
  }
}

addStream(Signer, (signer, chunk, encoding) => void signer.update(chunk, encoding), () => undefined);

// hashed throws for keys that do not sign a hash.
function hashed(handle) {
  if (native.describe(handle).family === 'ed25519') throw coded(Error, 'ERR_CRYPTO_UNSUPPORTED_OPERATION', 'Unsupported crypto operation: use crypto.sign and crypto.verify for Ed25519');
  return handle;
}

class Sign extends Signer {
  sign(key, encoding) {
    if (!key) throw coded(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
    const handle = hashed(privateHandle(key));
    const [sum, digest] = Signer.finish(this);
    return out(native.sign(handle, sum, true, ...signing(key, digest)), encoding);
  }
}

class Verify extends Signer {
  verify(key, signature, encoding) {
    const handle = hashed(publicHandle(key));
    const [sum, digest] = Signer.finish(this);
    return native.verify(handle, sum, true, ...signing(key, digest), data(signature, encoding, 'signature'));
  }
}

// digestOf checks the argument algorithm of sign and verify.
function digestOf(algorithm, handle) {
  if (algorithm !== null && algorithm !== undefined) text(algorithm, 'algorithm');
  if (algorithm && native.describe(handle).family === 'ed25519') throw coded(Error, 'ERR_CRYPTO_UNSUPPORTED_OPERATION', 'Unsupported crypto operation');
  return algorithm;
}

function needBytes(value, name) {
  if (!isBytes(value)) throw invalidType(name, 'an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
  return value;
}

function sign(algorithm, value, key, callback) {
  value = data(value, 'utf8', 'data');
  if (!key) throw coded(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
  const handle = privateHandle(key);
  const run = () => out(native.sign(handle, value, false, ...signing(key, digestOf(algorithm, handle))));
  return callback === undefined ? run() : callLater(run, callback, (s) => [s]);
}

function verify(algorithm, value, key, signature, callback) {
  value = data(value, 'utf8', 'data');
  needBytes(signature, 'signature');
  const handle = publicHandle(key);
  const run = () => native.verify(handle, value, false, ...signing(key, digestOf(algorithm, handle)), signature);
  return callback === undefined ? run() : callLater(run, callback, (valid) => [valid]);
}

// rsaOptions checks the options of publicEncrypt and privateDecrypt.
function rsaOptions(key) {
  const { padding = constants.RSA_PKCS1_OAEP_PADDING, oaepHash = 'sha1', oaepLabel } = typeof key === 'object' && key !== null ? key : {};
  text(oaepHash, 'key.oaepHash');
  if (padding !== constants.RSA_PKCS1_OAEP_PADDING) {
    throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.padding' is invalid. Only RSA_PKCS1_OAEP_PADDING is supported: other paddings are not safe");
  }
  if (oaepLabel !== undefined) needBytes(oaepLabel, 'key.oaepLabel');
  return [oaepHash, oaepLabel];
}

const publicEncrypt = (key, value) => out(native.encrypt(publicHandle(key), data(value, 'utf8', 'buffer'), ...rsaOptions(key)));
const privateDecrypt = (key, value) => out(native.decrypt(privateHandle(key), data(value, 'utf8', 'buffer'), ...rsaOptions(key)));

// generation checks the arguments of generateKeyPair and returns the function that starts it.
function generation(type, options) {
  text(type, 'type');
  let parameter;
  if (type === 'rsa') {
    if (typeof options !== 'object' || options === null) throw invalidType('options', 'of type object');
    parameter = integer(options.modulusLength, 'options.modulusLength', 0, 2 ** 32 - 1);
    if (options.publicExponent !== undefined && options.publicExponent !== 65537) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The public exponent must be 65537');
  } else if (type === 'ec') {
    if (typeof options !== 'object' || options === null) throw invalidType('options', 'of type object');
    parameter = text(options.namedCurve, 'options.namedCurve');
    if (![...native.curves(), 'P-256', 'P-384', 'P-521'].includes(parameter)) {
      throw coded(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
    }
  } else if (type !== 'ed25519' && type !== 'x25519') {
    throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'type' must be a supported key type: rsa, ec, ed25519 or x25519. Received '" + type + "'");
  }
  const { publicKeyEncoding, privateKeyEncoding } = options || {};
  const encode = (handle, kind, encoding) => (encoding === undefined ? wrap(handle) : exportAs(handle, kind, encoding));
  return {
    start: (wait) => native.generate(type, parameter, wait),
    finish: (handle) => [encode(native.public(handle), 'public', publicKeyEncoding), encode(handle, 'private', privateKeyEncoding)],
  };
}

function generateKeyPairSync(type, options) {
  const { start, finish } = generation(type, options);
  const [publicKey, privateKey] = finish(start(false));
  return { publicKey, privateKey };
}

function generateKeyPair(type, options, callback) {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  const { start, finish } = generation(type, options);
  callLater(() => start(true), callback, finish);
}
Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), {
  value: (type, options) => new Promise((done, fail) => {
    generateKeyPair(type, options, (e, publicKey, privateKey) => (e ? fail(e) : done({ publicKey, privateKey })));
  }),
});

function generateKeySync(type, { length } = {}) {
  text(type, 'type');
  if (type === 'aes') {
    if (![128, 192, 256].includes(length)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.length' must be one of: 128, 192, 256");
  } else if (type === 'hmac') {
    integer(length, 'options.length', 8, 2 ** 20);
  } else {
    throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'type' must be a supported key type: aes or hmac");
  }
  return createSecretKey(require('crypto').randomBytes(Math.floor(length / 8)));
}

function generateKey(type, options, callback) {
  const key = generateKeySync(type, options);
  callLater(() => key, callback, (k) => [k]);
}

function diffieHellman(options) {
  if (typeof options !== 'object' || options === null) throw invalidType('options', 'of type object');
  const { privateKey, publicKey } = options;
  if (!handleOf(privateKey)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.privateKey' is invalid");
  if (!handleOf(publicKey)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.publicKey' is invalid");
  return out(native.agree(handleOf(privateKey), handleOf(publicKey)));
}

module.exports = {
  KeyObject, Sign, Verify, constants, keyHandle,
  createSecretKey, createPrivateKey, createPublicKey, sign, verify, publicEncrypt, privateDecrypt,
  generateKeyPair, generateKeyPairSync, generateKey, generateKeySync, diffieHellman,
  createSign: (algorithm) => new Sign(algorithm),
  createVerify: (algorithm) => new Verify(algorithm),
  getCurves: () => native.curves(),
};
