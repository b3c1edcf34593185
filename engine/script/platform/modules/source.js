// Reading of the values that scripts use as streams of bytes: async iterators and ReadableStreams.
'use strict';

// open returns [next, cancel] for a stream, or undefined for any other value.
function open(value) {
  if (typeof value.getReader === 'function') {
    const reader = value.getReader();
    return [() => reader.read(), (reason) => reader.cancel(reason)];
  }
  const iterate = value[Symbol.asyncIterator];
  if (typeof iterate !== 'function') return undefined;
  const iterator = iterate.call(value);
  return [() => iterator.next(), () => (typeof iterator.return === 'function' ? iterator.return() : undefined)];
}

// pump passes the chunks of a stream to Go, which calls the returned function to end the stream.
exports.pump = (value, to) => {
  const opened = typeof value === 'object' && value !== null ? open(value) : undefined;
  if (!opened) throw new TypeError('a stream is an async iterator or a ReadableStream');
  const [next, cancel] = opened;
  let running = true;
  // finish ends the iterator, and reports the error why that the stream has failed with, if failed is true.
  const finish = (reason, failed, why) => {
    running = false;
    const report = (error) => to.end(failed || error !== undefined, failed ? why : error);
    new Promise((resolve) => resolve(cancel(reason))).then(() => report(), report);
  };
  (async () => {
    while (running) {
      let step;
      try {
        step = await next();
      } catch (e) {
        if (running) to.end(true, e); // the iterator has ended itself
        return;
      }
      if (!running) return;
      if (step.done) return to.end(false);
      try {
        if (!to.push(step.value)) await to.room();
      } catch (e) {
        finish(e, true, e);
      }
    }
  })();
  return (reason) => {
    if (running) finish(reason, false);
  };
};
