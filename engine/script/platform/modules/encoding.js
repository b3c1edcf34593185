// TextEncoder and TextDecoder. The encodings are implemented in Go.
'use strict';

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return new Uint8Array(native.encode(String(text))); }
  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const c of String(text)) {
      const bytes = new Uint8Array(native.encode(c));
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += c.length;
      written += bytes.length;
    }
    return { read, written };
  }
  get [Symbol.toStringTag]() { return 'TextEncoder'; }
}

class TextDecoder {
  #decoder; #fatal; #ignoreBOM;
  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    this.#fatal = Boolean(fatal);
    this.#ignoreBOM = Boolean(ignoreBOM);
    this.#decoder = native.decoder(String(label), this.#fatal, this.#ignoreBOM);
  }
  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(bytes, { stream = false } = {}) { return this.#decoder.decode(bytes, Boolean(stream)); }
  get [Symbol.toStringTag]() { return 'TextDecoder'; }
}

module.exports = { TextEncoder, TextDecoder };
