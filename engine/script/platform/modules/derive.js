// The key derivations of the module crypto of Node: PBKDF2, HKDF and scrypt.
'use strict';

const { Buffer } = require('buffer');

function coded(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

function bytes(value, name) {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value;
  throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "' + name + '" argument must be of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
}

function integer(value, name, least, most) {
  if (typeof value !== 'number') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "' + name + '" argument must be of type number');
  if (!Number.isInteger(value) || value < least || value > most) {
    throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "' + name + '" is out of range. It must be an integer from ' + least + ' to ' + most + '. Received ' + value);
  }
  return value;
}

function digestName(value) {
  if (typeof value !== 'string') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "digest" argument must be of type string');
  return value;
}

const most = 2 ** 31 - 1;

// callLater passes the result of derive, which is a value or a promise of it, to a callback of Node.
function callLater(derive, callback, convert) {
  if (typeof callback !== 'function') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function');
  Promise.resolve(derive()).then((key) => callback(null, convert(key)), callback);
}

const pbkdf2Arguments = (password, salt, iterations, length, digest) => {
  digest = digestName(digest);
  return [bytes(password, 'password'), bytes(salt, 'salt'), integer(iterations, 'iterations', 1, most), integer(length, 'keylen', 0, most), digest];
};

function scryptArguments(password, salt, length, options) {
  password = bytes(password, 'password');
  salt = bytes(salt, 'salt');
  integer(length, 'keylen', 0, most);
  let { N, r, p, cost = N, blockSize = r, parallelization = p, maxmem } = options || {};
  for (const [a, b, names] of [[N, cost, 'N and cost'], [r, blockSize, 'r and blockSize'], [p, parallelization, 'p and parallelization']]) {
    if (a !== undefined && a !== b) throw coded(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', 'The options ' + names + ' must not be used together');
  }
  if (cost === undefined) cost = 16384;
  if (blockSize === undefined) blockSize = 8;
  if (parallelization === undefined) parallelization = 1;
  if (maxmem === undefined) maxmem = 32 * 1024 * 1024;
  return [password, salt, length, integer(cost, 'N', 0, 2 ** 32 - 1), integer(blockSize, 'r', 0, 2 ** 32 - 1),
    integer(parallelization, 'p', 0, 2 ** 32 - 1), integer(maxmem, 'maxmem', 0, Number.MAX_SAFE_INTEGER)];
}

function hkdfArguments(digest, key, salt, info, length) {
  digest = digestName(digest);
  key = bytes(key, 'ikm');
  salt = bytes(salt, 'salt');
  info = bytes(info, 'info');
  integer(length, 'length', 0, most);
  if (info.byteLength > 1024) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "info" is out of range. It must not contain more than 1024 bytes');
  return [digest, key, salt, info, length];
}

const same = (key) => key;
const buffer = (key) => Buffer.from(key);

module.exports = {
  pbkdf2Sync(...args) { return buffer(native.pbkdf2(...pbkdf2Arguments(...args), false)); },
  pbkdf2(password, salt, iterations, length, digest, callback) {
    if (typeof digest === 'function') [digest, callback] = [undefined, digest];
    const args = pbkdf2Arguments(password, salt, iterations, length, digest);
    callLater(() => native.pbkdf2(...args, true), callback, buffer);
  },
  scryptSync(password, salt, length, options) { return buffer(native.scrypt(...scryptArguments(password, salt, length, options), false)); },
  scrypt(password, salt, length, options, callback) {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    const args = scryptArguments(password, salt, length, options);
    callLater(() => native.scrypt(...args, true), callback, buffer);
  },
  hkdfSync(...args) { return native.hkdf(...hkdfArguments(...args), false); },
  hkdf(digest, key, salt, info, length, callback) {
    const args = hkdfArguments(digest, key, salt, info, length);
    callLater(() => native.hkdf(...args, true), callback, same);
  },
};
