// string_decoder as in Node: decodes text that arrives in chunks.
'use strict';

const names = {
  utf8: 'utf8', 'utf-8': 'utf8', utf16le: 'utf16le', 'utf-16le': 'utf16le', ucs2: 'utf16le', 'ucs-2': 'utf16le',
  latin1: 'latin1', binary: 'latin1', ascii: 'ascii', base64: 'base64', base64url: 'base64url', hex: 'hex',
};

// tail returns the number of bytes at the end of b that belong to an incomplete character or group of characters.
const tail = {
  utf8(b) {
    for (let back = 1; back <= Math.min(3, b.length); back++) {
      const c = b[b.length - back];
      if ((c & 0xc0) === 0x80) continue;
      const size = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
      return c < 0xf5 && size > back ? back : 0;
    }
    return 0;
  },
  utf16le(b) {
    const odd = b.length % 2, whole = b.length - odd;
    return whole >= 2 && (b[whole - 1] & 0xfc) === 0xd8 ? odd + 2 : odd;
  },
  base64: (b) => b.length % 3,
  base64url: (b) => b.length % 3,
};

class StringDecoder {
  #rest = Buffer.alloc(0);
  constructor(encoding = 'utf8') {
    this.encoding = names[String(encoding).toLowerCase()];
    if (!this.encoding) {
      const e = new TypeError('Unknown encoding: ' + encoding);
      e.code = 'ERR_UNKNOWN_ENCODING';
      throw e;
    }
  }
  write(chunk) {
    if (typeof chunk === 'string') return chunk;
    if (!ArrayBuffer.isView(chunk)) {
      const e = new TypeError('The "buf" argument must be an instance of Buffer, TypedArray, or DataView');
      e.code = 'ERR_INVALID_ARG_TYPE';
      throw e;
    }
    const all = Buffer.concat([this.#rest, Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)]);
    const keep = tail[this.encoding]?.(all) ?? 0;
    this.#rest = all.subarray(all.length - keep);
    return all.subarray(0, all.length - keep).toString(this.encoding);
  }
  end(chunk) {
    const text = chunk === undefined ? '' : this.write(chunk), rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    return text + (rest.length ? rest.toString(this.encoding) : '');
  }
}

exports.StringDecoder = StringDecoder;
