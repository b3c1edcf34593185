// buffer: the globals.
'use strict';
module.exports = {
  Buffer,
  get atob() { return atob; },
  get btoa() { return btoa; },
  constants: { MAX_LENGTH: 67108864, MAX_STRING_LENGTH: 67108864 },
  kMaxLength: 67108864,
  isUtf8: (b) => { try { new TextDecoder('utf-8', { fatal: true }).decode(b); return true; } catch { return false; } },
  isAscii: (b) => new Uint8Array(b.buffer ?? b, b.byteOffset ?? 0, b.byteLength).every((c) => c < 128),
};
