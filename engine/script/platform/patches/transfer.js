// ArrayBuffer.prototype.transfer. Resizable buffers are not supported.
function move(buffer, length) {
  const size = length === undefined ? buffer.byteLength : Math.trunc(Number(length)) || 0;
  if (native.detached(buffer)) throw new TypeError('the buffer was transferred already');
  const out = new ArrayBuffer(size);
  new Uint8Array(out).set(new Uint8Array(buffer, 0, Math.min(size, buffer.byteLength)));
  native.detach(buffer);
  return out;
}

define(ArrayBuffer.prototype, {
  transfer(length) { return move(this, length); },
  transferToFixedLength(length) { return move(this, length); },
});
for (const [name, get] of Object.entries({
  detached() { return native.detached(this); },
  resizable() { return false; },
  maxByteLength() { return this.byteLength; },
})) Object.defineProperty(ArrayBuffer.prototype, name, { get, configurable: true });
