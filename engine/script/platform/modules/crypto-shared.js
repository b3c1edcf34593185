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

const methods = ['on', 'once', 'off', 'addListener', 'removeListener', 'removeAllListeners', 'prependListener', 'prependOnceListener', 'emit', 'listeners', 'listenerCount',
  'eventNames', 'setMaxListeners', 'write', 'end', 'cork', 'uncork', 'setDefaultEncoding', 'pipe', 'unpipe', 'read', 'resume', 'pause', 'isPaused', 'setEncoding', 'destroy'];
const members = ['readable', 'writable', 'destroyed', 'closed', 'errored', 'readableEnded', 'readableFlowing', 'readableLength', 'readableHighWaterMark', 'readableObjectMode',
  'writableEnded', 'writableFinished', 'writableLength', 'writableHighWaterMark', 'writableNeedDrain', 'writableObjectMode', '_readableState', '_writableState'];
const streams = new WeakMap();

// addStream gives a class the members of a stream of Node. The stream is made when a script first uses one of them, so
// that scripts without streams do not load the module stream. update and finish return bytes for the readers of the
// stream, or undefined.
function addStream(Class, update, finish) {
  const streamOf = (owner) => {
    let made = streams.get(owner);
    if (made) return made;
    const run = (f, done) => {
      let bytes;
      try { bytes = f(); } catch (e) { return done(e); }
      if (bytes !== undefined && bytes.length > 0) made.push(bytes);
      done();
    };
    made = new (require('stream').Transform)({
      transform(chunk, encoding, done) { run(() => update(owner, chunk, encoding), done); },
      flush(done) { run(() => finish(owner), done); },
    });
    streams.set(owner, made);
    return made;
  };
  for (const name of methods) {
    Object.defineProperty(Class.prototype, name, {
      value: { [name](...args) {
        const made = streamOf(this), result = made[name](...args);
        return result === made ? this : result;
      } }[name],
      writable: true, configurable: true,
    });
  }
  for (const name of members) Object.defineProperty(Class.prototype, name, { get() { return streamOf(this)[name]; }, configurable: true });
  Object.defineProperty(Class.prototype, Symbol.asyncIterator, { value() { return streamOf(this)[Symbol.asyncIterator](); }, writable: true, configurable: true });
}

module.exports = { addStream, coded, invalidType, isBytes, data, out, integer, text, callLater, most: 2 ** 31 - 1 };
