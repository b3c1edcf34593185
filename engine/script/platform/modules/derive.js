// The key derivations of the module crypto of Node: PBKDF2, HKDF and scrypt.
'use strict';

const { Buffer } = require('buffer');
const { coded, invalidType, isBytes, out, integer, text, callLater, most } = require('#crypto');

function bytes(value, name) {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (isBytes(value)) return value;
  throw invalidType(name, 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
}

const pbkdf2Arguments = (password, salt, iterations, length, digest) => {
  text(digest, 'digest');
  return [bytes(password, 'password'), bytes(salt, 'salt'), integer(iterations, 'iterations', 1, most), integer(length, 'keylen', 0, most), digest];
};

function scryptArguments(password, salt, length, options) {
  password = bytes(password, 'password');
  salt = bytes(salt, 'salt');
  integer(length, 'keylen', 0, most);
  const given = options || {};
  const option = (short, long, byDefault) => {
    if (given[short] !== undefined && given[long] !== undefined) {
      throw coded(Error, 'ERR_CRYPTO_SCRYPT_INVALID_PARAMETER', 'Invalid scrypt parameters: ' + short + ' and ' + long + ' must not be used together');
    }
    const value = given[short] === undefined ? given[long] : given[short];
    return value === undefined ? byDefault : value;
  };
  const cost = option('N', 'cost', 16384), blockSize = option('r', 'blockSize', 8), parallelization = option('p', 'parallelization', 1);
  const { maxmem = 32 * 1024 * 1024 } = given;
  return [password, salt, length, integer(cost, 'N', 0, 2 ** 32 - 1), integer(blockSize, 'r', 0, 2 ** 32 - 1),
    integer(parallelization, 'p', 0, 2 ** 32 - 1), integer(maxmem, 'maxmem', 0, Number.MAX_SAFE_INTEGER)];
}

function hkdfArguments(digest, key, salt, info, length) {
  text(digest, 'digest');
  key = require('#keys').keyHandle(key) || bytes(key, 'ikm');
  salt = bytes(salt, 'salt');
  info = bytes(info, 'info');
  integer(length, 'length', 0, most);
  if (info.byteLength > 1024) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "info" is out of range. It must not contain more than 1024 bytes');
  return [digest, key, salt, info, length];
}

const same = (key) => [key];
const buffer = (key) => [out(key)];

module.exports = {
  pbkdf2Sync(...args) { return out(native.pbkdf2(...pbkdf2Arguments(...args), false)); },
  pbkdf2(password, salt, iterations, length, digest, callback) {
    if (typeof digest === 'function') [digest, callback] = [undefined, digest];
    const args = pbkdf2Arguments(password, salt, iterations, length, digest);
    callLater(() => native.pbkdf2(...args, true), callback, buffer);
  },
  scryptSync(password, salt, length, options) { return out(native.scrypt(...scryptArguments(password, salt, length, options), false)); },
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
