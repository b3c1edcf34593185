// The module zlib of Node. The formats are implemented in Go.
'use strict';

const constants = {
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2,
  Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0,
  Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4,
  Z_DEFAULT_STRATEGY: 0, ZLIB_VERNUM: 4880, DEFLATE: 1, INFLATE: 2, GZIP: 3, GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7,
  Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384,
  Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1,
};
const codes = {};
for (const name of ['Z_OK', 'Z_STREAM_END', 'Z_NEED_DICT', 'Z_ERRNO', 'Z_STREAM_ERROR', 'Z_DATA_ERROR', 'Z_MEM_ERROR', 'Z_BUF_ERROR', 'Z_VERSION_ERROR']) {
  codes[name] = constants[name];
  codes[constants[name]] = name;
}

function coded(type, code, message, more) { return Object.assign(new type(message), { code, ...more }); }

function bytesOf(buffer) {
  if (typeof buffer === 'string') return Buffer.from(buffer);
  if (buffer instanceof ArrayBuffer || ArrayBuffer.isView(buffer)) return buffer;
  throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "buffer" argument must be of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer.');
}

function inRange(options, name, low, high) {
  const v = options[name];
  if (v === undefined || Number.isNaN(v)) return;
  if (typeof v !== 'number') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "options.' + name + '" property must be of type number.');
  if (v < low || v > high) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "options.' + name + '" is out of range. It must be >= ' + low + ' and <= ' + high + '. Received ' + v);
}

// codecOf returns the codec of Go for a format and the options of Node.
function codecOf(format, reads, options) {
  const o = options === undefined || options === null ? {} : options;
  inRange(o, 'chunkSize', 64, Infinity);
  inRange(o, 'windowBits', reads || format === 'gzip' || format === 'auto' ? 0 : 8, 15);
  inRange(o, 'level', -1, 9);
  inRange(o, 'memLevel', 1, 9);
  inRange(o, 'strategy', 0, 4);
  inRange(o, 'maxOutputLength', 1, Number.MAX_SAFE_INTEGER);
  const dictionary = o.dictionary === undefined ? undefined : bytesOf(o.dictionary);
  if (reads) return native.decompressor(format, false, dictionary);
  const level = o.strategy === constants.Z_HUFFMAN_ONLY ? -2 : o.level === undefined || Number.isNaN(o.level) ? -1 : o.level;
  return native.compressor(format, level, dictionary);
}

// run passes all input to a codec and returns the result. It throws if the result has more than max bytes.
function run(codec, input, max, finish) {
  const parts = [];
  let size = 0;
  const drain = () => {
    for (let piece = codec.read(); piece; piece = codec.read()) {
      size += piece.byteLength;
      if (size > max) throw coded(RangeError, 'ERR_BUFFER_TOO_LARGE', 'Cannot create a Buffer larger than ' + max + ' bytes');
      parts.push(piece);
    }
  };
  codec.write(input);
  drain();
  codec.close();
  try {
    drain();
  } catch (e) {
    if (e.code !== 'Z_BUF_ERROR' || finish !== constants.Z_SYNC_FLUSH) throw e;
  }
  return Buffer.from(native.join(parts));
}

function sync(format, reads) {
  return (buffer, options) => {
    const input = bytesOf(buffer), o = options || {};
    return run(codecOf(format, reads, options), input, Math.min(o.maxOutputLength || Infinity, native.limit()), o.finishFlush);
  };
}

function later(name, work) {
  const f = function (buffer, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = {};
    }
    if (typeof callback !== 'function') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.');
    bytesOf(buffer);
    setImmediate(() => {
      let result;
      try {
        result = work(buffer, options);
      } catch (e) {
        return callback(e);
      }
      callback(null, result);
    });
  };
  Object.defineProperty(f, 'name', { value: name });
  return f;
}

// streamClass returns a class of Node's streams around a codec. It is made at the first use: it loads the module stream.
function streamClass(name, format, reads) {
  const { Transform } = require('stream');
  const type = {
    [name]: class extends Transform {
      constructor(options) {
        super(options);
        this._codec = codecOf(format, reads, options);
        this.bytesWritten = 0;
      }
      _drain(done) {
        try {
          for (let piece = this._codec.read(); piece; piece = this._codec.read()) this.push(Buffer.from(piece));
        } catch (e) {
          return done(e);
        }
        done();
      }
      _transform(chunk, encoding, done) {
        this.bytesWritten += chunk.length;
        this._codec.write(chunk);
        this._drain(done);
      }
      _flush(done) {
        this._codec.close();
        this._drain(done);
      }
      close(callback) {
        if (callback) this.once('close', callback);
        this.destroy();
      }
    },
  };
  // Old packages call the class without new, for an object of a class of their own.
  const made = type[name], callable = function (options) {
    if (new.target) return Reflect.construct(made, [options], new.target);
    if (!(this instanceof callable)) return new callable(options);
    Transform.call(this, options);
    this._codec = codecOf(format, reads, options);
    this.bytesWritten = 0;
  };
  callable.prototype = made.prototype;
  Object.defineProperty(made.prototype, 'constructor', { value: callable, writable: true, configurable: true });
  Object.setPrototypeOf(callable, Transform);
  return Object.defineProperty(callable, 'name', { value: name });
}

const made = {};
const kinds = [
  ['Deflate', 'deflate', false], ['Inflate', 'deflate', true], ['Gzip', 'gzip', false], ['Gunzip', 'gzip', true],
  ['DeflateRaw', 'deflate-raw', false], ['InflateRaw', 'deflate-raw', true], ['Unzip', 'auto', true],
];
for (const [name, format, reads] of kinds) {
  const method = name[0].toLowerCase() + name.slice(1);
  exports[method + 'Sync'] = sync(format, reads);
  Object.defineProperty(exports[method + 'Sync'], 'name', { value: method + 'Sync' });
  exports[method] = later(method, exports[method + 'Sync']);
  const type = () => made[name] || (made[name] = streamClass(name, format, reads));
  Object.defineProperty(exports, name, { get: type, enumerable: true, configurable: true });
  exports['create' + name] = (options) => new (type())(options);
}

function unsupported(name) {
  const refuse = () => { throw coded(Error, 'not-supported', 'zlib.' + name + ': Brotli is not supported; use gzip or deflate'); };
  Object.defineProperty(refuse, 'name', { value: name });
  return refuse;
}
for (const name of ['brotliCompress', 'brotliCompressSync', 'brotliDecompress', 'brotliDecompressSync', 'createBrotliCompress', 'createBrotliDecompress']) {
  exports[name] = unsupported(name);
}

exports.crc32 = (data, value = 0) => {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
  return native.crc32(bytesOf(data), value);
};
exports.constants = constants;
exports.codes = codes;
