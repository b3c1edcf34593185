// The interfaces SubtleCrypto and CryptoKey of the Web Cryptography API. The operations are in Go.
'use strict';

const secret = {};

class CryptoKey {
  constructor() { throw Object.assign(new TypeError('Illegal constructor'), { code: 'ERR_ILLEGAL_CONSTRUCTOR' }); }
  get type() { return native.type(this); }
  get extractable() { return native.extractable(this); }
  get algorithm() { return native.algorithm(this); }
  get usages() { return native.usages(this); }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    if (depth < 0) return '[CryptoKey]';
    const { type, extractable, algorithm, usages } = this;
    return 'CryptoKey ' + inspect({ type, extractable, algorithm, usages }, options);
  }
}
native.prototype(CryptoKey.prototype);

class SubtleCrypto {
  constructor(key) { if (key !== secret) throw Object.assign(new TypeError('Illegal constructor'), { code: 'ERR_ILLEGAL_CONSTRUCTOR' }); }
}

const methods = {
  encrypt: 3, decrypt: 3, sign: 3, verify: 4, digest: 2, generateKey: 3, deriveKey: 5, deriveBits: 2, importKey: 5, exportKey: 2, wrapKey: 4, unwrapKey: 7,
};
for (const name of Object.keys(methods)) {
  const method = {
    async [name](...args) {
      if (this !== subtle) throw Object.assign(new TypeError('Value of "this" must be of type SubtleCrypto'), { code: 'ERR_INVALID_THIS' });
      return native.run(name, args);
    },
  }[name];
  Object.defineProperty(method, 'length', { value: methods[name], configurable: true });
  Object.defineProperty(SubtleCrypto.prototype, name, { value: method, writable: true, enumerable: true, configurable: true });
}

for (const [C, names] of [[CryptoKey, ['type', 'extractable', 'algorithm', 'usages']], [SubtleCrypto, []]]) {
  for (const name of names) Object.defineProperty(C.prototype, name, { enumerable: true });
  Object.defineProperty(C.prototype, Symbol.toStringTag, { value: C.name, configurable: true });
}

const subtle = new SubtleCrypto(secret);

module.exports = { subtle, SubtleCrypto, CryptoKey, isCryptoKey: native.isKey, material: native.material };
