// Conversions and checks that the files of the module crypto share.
'use strict';

const { Buffer } = require('buffer');

function coded(Class, code, message) {
  const e = new Class(message);
  if (code) e.code = code;
  return e;
}

// invalidType returns the error for an argument of a wrong type.
function invalidType(name, expected) {
  return coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "' + name + '" argument must be ' + expected);
}

const isBytes = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer;

// data returns the bytes of a text or of bytes.
function data(value, encoding, name) {
  if (typeof value === 'string') return Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
  if (isBytes(value)) return value;
  throw invalidType(name, 'of type string or an instance of Buffer, TypedArray, or DataView');
}

// out returns bytes as a Buffer, or as a text in the encoding.
function out(bytes, encoding) {
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === null || encoding === 'buffer' ? buffer : buffer.toString(encoding);
}

function integer(value, name, least, most) {
  if (typeof value !== 'number') throw invalidType(name, 'of type number');
  if (!Number.isInteger(value) || value < least || value > most) {
    throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "' + name + '" is out of range. It must be an integer from ' + least + ' to ' + most + '. Received ' + value);
  }
  return value;
}

function text(value, name) {
  if (typeof value !== 'string') throw invalidType(name, 'of type string');
  return value;
}

// callLater passes the result of derive, which is a value or a promise of it, to a callback of Node.
function callLater(derive, callback, convert) {
  if (typeof callback !== 'function') throw invalidType('callback', 'of type function');
  new Promise((settle) => settle(derive())).then((result) => callback(null, ...convert(result)), callback);
}

module.exports = { coded, invalidType, isBytes, data, out, integer, text, callLater, most: 2 ** 31 - 1 };
