// stream as in Node, by the npm package readable-stream.
'use strict';

const Stream = require('#readable-stream');

// duplexPair returns two streams: the one reads the chunks that were written to the other.
Stream.duplexPair = (options) => {
  const make = () => new Stream.Duplex({
    ...options,
    read() {
      const done = this.waiting;
      this.waiting = null;
      if (done) done();
    },
    write(chunk, encoding, done) {
      if (chunk.length === 0) return queueMicrotask(done);
      this.other.push(chunk);
      this.other.waiting = done;
    },
    final(done) {
      this.other.on('end', done);
      this.other.push(null);
    },
  });
  const one = make(), other = make();
  one.other = other;
  other.other = one;
  return [one, other];
};
// Streams of the web platform and of Node. readable-stream has no conversion of its own.
const { Readable, Writable, Duplex } = Stream;

Readable.toWeb = (stream) => {
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(Buffer.isBuffer(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value);
    },
    cancel(reason) { stream.destroy(reason instanceof Error ? reason : undefined); },
  }, { highWaterMark: 0 });
};

// pull reads one chunk of a web stream for a stream of Node.
function pull(stream, reader) {
  const passed = (value) => (value instanceof Uint8Array && !stream.readableObjectMode ? Buffer.from(value) : value);
  reader.read().then(({ value, done }) => stream.push(done ? null : passed(value)), (e) => stream.destroy(e));
}
Readable.fromWeb = (source, options) => {
  const reader = source.getReader();
  return new Readable({ ...options, read() { pull(this, reader); }, destroy(err, done) { reader.cancel(err).then(() => done(err), () => done(err)); } });
};
Writable.toWeb = (stream) => new WritableStream({
  write: (chunk) => new Promise((done, fail) => stream.write(chunk, (e) => (e ? fail(e) : done()))),
  close: () => new Promise((done) => stream.end(done)),
  abort: (reason) => { stream.destroy(reason instanceof Error ? reason : undefined); },
});
const writeTo = (writer) => ({
  write(chunk, encoding, done) { writer.write(chunk).then(() => done(), done); },
  final(done) { writer.close().then(() => done(), done); },
});
Writable.fromWeb = (target, options) => new Writable({ ...options, ...writeTo(target.getWriter()) });
Duplex.fromWeb = ({ readable, writable }, options) => {
  const reader = readable.getReader();
  return new Duplex({ ...options, ...writeTo(writable.getWriter()), read() { pull(this, reader); } });
};
Duplex.toWeb = (stream) => ({ readable: Readable.toWeb(stream), writable: Writable.toWeb(stream) });

module.exports = Stream;
