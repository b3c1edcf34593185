// The web streams, from the npm package web-streams-polyfill, and the streams of the standards Encoding and Compression.
'use strict';

const streams = require('#ponyfill');
const { ReadableStream, WritableStream, TransformStream } = streams;

function hidden(object, values) {
  for (const [name, value] of Object.entries(values)) Object.defineProperty(object, name, { value, configurable: true });
}

// Pair is the base of the classes below, which have two streams as TransformStream has.
class Pair {
  #readable; #writable;
  constructor(pair) {
    this.#readable = pair.readable;
    this.#writable = pair.writable;
  }
  get readable() { return this.#readable; }
  get writable() { return this.#writable; }
}

function named(type, name) {
  for (const key of Object.getOwnPropertyNames(type.prototype)) {
    if (key !== 'constructor') Object.defineProperty(type.prototype, key, { enumerable: true });
  }
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
}

class TextEncoderStream extends Pair {
  constructor() {
    let half = ''; // the first half of a surrogate pair at the end of the last chunk
    const encoder = new TextEncoder();
    super(new TransformStream({
      transform(chunk, controller) {
        let text = half + String(chunk);
        half = '';
        const last = text.charCodeAt(text.length - 1);
        if (last >= 0xd800 && last <= 0xdbff) {
          half = text.slice(-1);
          text = text.slice(0, -1);
        }
        if (text !== '') controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        if (half !== '') controller.enqueue(new Uint8Array([0xef, 0xbf, 0xbd]));
      },
    }));
  }
  get encoding() { return 'utf-8'; }
}

class TextDecoderStream extends Pair {
  #decoder;
  constructor(label = 'utf-8', options = {}) {
    const decoder = new TextDecoder(label, options);
    super(new TransformStream({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text !== '') controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== '') controller.enqueue(text);
      },
    }));
    this.#decoder = decoder;
  }
  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#decoder.fatal; }
  get ignoreBOM() { return this.#decoder.ignoreBOM; }
}

// coded returns a pair of streams around a codec of Go. It processes a chunk in pieces, each when a reader asks for
// it: a small chunk can decompress to a huge result, which is never in memory as a whole.
function coded(codec) {
  let output, input, taken; // the controllers, and the function that ends the present write
  let failed = false;
  const fail = (e) => {
    failed = true;
    codec.close();
    output.error(e);
    input.error(e);
    if (taken) taken();
  };
  let more; // resumes a read that waits for input
  const wait = () => new Promise((resolve) => { more = resolve; });
  const wake = () => { if (more) { more(); more = undefined; } };
  const readable = new ReadableStream({
    start(controller) { output = controller; },
    async pull(controller) {
      while (!failed) {
        let piece;
        try {
          piece = codec.read();
        } catch (e) {
          fail(Object.assign(new TypeError(e.message), { code: e.code, errno: e.errno }));
          return;
        }
        if (piece === undefined) {
          controller.close();
          if (taken) taken();
          return;
        }
        if (piece !== null) {
          controller.enqueue(new Uint8Array(piece));
          return;
        }
        const next = wait();
        if (taken) {
          taken();
          taken = undefined;
        }
        await next;
      }
    },
    cancel(reason) { fail(reason); },
  }, { highWaterMark: 0 });
  const writable = new WritableStream({
    start(controller) { input = controller; },
    write(chunk) {
      if (!(chunk instanceof ArrayBuffer) && !ArrayBuffer.isView(chunk)) {
        const e = new TypeError('a chunk is an ArrayBuffer, a typed array or a DataView');
        fail(e);
        throw e;
      }
      codec.write(chunk);
      return new Promise((resolve) => { taken = resolve; wake(); });
    },
    close() {
      codec.close();
      return new Promise((resolve) => { taken = resolve; wake(); });
    },
    abort(reason) {
      if (!failed) {
        failed = true;
        output.error(reason);
        wake();
      }
    },
  });
  return { readable, writable };
}

const formats = ['deflate', 'deflate-raw', 'gzip'];

function formatOf(name, format, count) {
  if (count === 0) throw Object.assign(new TypeError(name + ': 1 argument required, but only 0 present'), { code: 'ERR_MISSING_ARGS' });
  if (!formats.includes(String(format))) {
    throw Object.assign(new TypeError(name + ': the format is one of ' + formats.join(', ') + ', found ' + String(format)), { code: 'ERR_INVALID_ARG_VALUE' });
  }
  return String(format);
}

class CompressionStream extends Pair {
  constructor(format) { super(coded(native.compressor(formatOf('CompressionStream', format, arguments.length)))); }
}

class DecompressionStream extends Pair {
  constructor(format) { super(coded(native.decompressor(formatOf('DecompressionStream', format, arguments.length)))); }
}

const ours = { TextEncoderStream, TextDecoderStream, CompressionStream, DecompressionStream };
for (const [name, type] of Object.entries(ours)) named(type, name);

module.exports = { ...streams, ...ours };
