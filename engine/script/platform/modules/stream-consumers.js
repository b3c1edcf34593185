// stream/consumers as in Node: they read a whole stream.
'use strict';

async function buffer(stream) {
  const parts = [];
  for (const i = stream[Symbol.asyncIterator](); ;) {
    const { value, done } = await i.next();
    if (done) return Buffer.concat(parts);
    parts.push(typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.buffer || value, value.byteOffset || 0, value.byteLength));
  }
}

module.exports = {
  buffer,
  async arrayBuffer(stream) {
    const b = await buffer(stream);
    return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength);
  },
  async text(stream) { return (await buffer(stream)).toString('utf8'); },
  async json(stream) { return JSON.parse((await buffer(stream)).toString('utf8')); },
  async blob(stream) { return new Blob([await buffer(stream)]); },
};
