// The standard streams of process, by number. Text goes to the log.
'use strict';

const { Readable, Writable } = require('stream');

function output(fd) {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      native.print(fd, typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
      done();
    },
  });
  return Object.assign(stream, { fd, isTTY: false, getColorDepth: () => 1, hasColors: () => false, getWindowSize: () => [80, 24], destroy() { return stream; } });
}

module.exports = { 0: Object.assign(Readable.from([]), { fd: 0, isTTY: false }), 1: output(1), 2: output(2) };
