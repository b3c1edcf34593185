// The ciphers of the module crypto of Node: AES with the modes CBC, CTR and GCM.
'use strict';

const { addStream, coded, invalidType, isBytes, data, out, text } = require('#crypto');
const { keyHandle } = require('#keys');

class Cipher {
  #native; #decoder;
  constructor(encrypts, algorithm, key, iv, options) {
    text(algorithm, 'cipher');
    const info = native.info(algorithm);
    const secret = keyHandle(key) || data(key, 'utf8', 'key');
    if (iv !== null && typeof iv !== 'string' && !isBytes(iv)) throw invalidType('iv', 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
    if (!info) throw coded(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    const { authTagLength } = options || {};
    if (authTagLength !== undefined && (!Number.isInteger(authTagLength) || authTagLength < 0)) {
      throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The property 'options.authTagLength' is invalid");
    }
    this.#native = native.new(algorithm, encrypts, secret, iv === null ? new Uint8Array() : data(iv, 'utf8', 'iv'), info.mode === 'gcm' ? authTagLength || 0 : 0);
  }
  // #text returns bytes in the encoding. A text may end within a character, so the parts need a decoder.
  #text(bytes, encoding, last) {
    if (encoding === undefined || encoding === null || encoding === 'buffer') return out(bytes);
    if (!this.#decoder) this.#decoder = new (require('string_decoder').StringDecoder)(encoding);
    return last ? this.#decoder.end(out(bytes)) : this.#decoder.write(out(bytes));
  }
  update(value, inputEncoding, outputEncoding) { return this.#text(this.#native.update(data(value, inputEncoding, 'data')), outputEncoding, false); }
  final(encoding) { return this.#text(this.#native.final(), encoding, true); }
  setAutoPadding(pads = true) { this.#native.setPadding(Boolean(pads)); return this; }
  setAAD(value, options) { this.#native.setAdditional(data(value, options && options.encoding, 'buffer')); return this; }
  static tag(cipher) { return out(cipher.#native.tag()); }
  static setTag(cipher, tag, encoding) { cipher.#native.setTag(data(tag, encoding, 'buffer')); return cipher; }
}

addStream(Cipher, (cipher, chunk, encoding) => cipher.update(chunk, encoding), (cipher) => cipher.final());

class Cipheriv extends Cipher {
  constructor(algorithm, key, iv, options) { super(true, algorithm, key, iv, options); }
  getAuthTag() { return Cipher.tag(this); }
}

class Decipheriv extends Cipher {
  constructor(algorithm, key, iv, options) { super(false, algorithm, key, iv, options); }
  setAuthTag(tag, encoding) { return Cipher.setTag(this, tag, encoding); }
}

module.exports = {
  Cipheriv, Decipheriv,
  createCipheriv: (...args) => new Cipheriv(...args),
  createDecipheriv: (...args) => new Decipheriv(...args),
  getCiphers: () => native.names(),
  getCipherInfo(name) {
    const info = native.info(text(name, 'nameOrNid'));
    return info && { mode: info.mode, name: info.name, blockSize: info.mode === 'cbc' ? 16 : undefined, ivLength: info.ivLength, keyLength: info.keyLength };
  },
};
