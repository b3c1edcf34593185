// timers/promises as in Node.
'use strict';

function aborted(signal) {
  const e = new Error('The operation was aborted', { cause: signal.reason });
  e.name = 'AbortError';
  e.code = 'ABORT_ERR';
  return e;
}

// later returns a promise that the timer start fulfils; clear cancels that timer.
function later(start, clear, value, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const stop = () => { clear(id); reject(aborted(signal)); };
    const id = start(() => {
      signal?.removeEventListener('abort', stop);
      resolve(value);
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

const wait = (ms, value, { signal } = {}) => later((f) => setTimeout(f, ms), clearTimeout, value, signal);
const soon = (value, { signal } = {}) => later((f) => setImmediate(f), clearImmediate, value, signal);

function every(ms, value, { signal } = {}) {
  let over = false;
  return {
    next: async () => {
      if (over) return { value: undefined, done: true };
      await wait(ms, value, { signal });
      return over ? { value: undefined, done: true } : { value, done: false };
    },
    return: async () => { over = true; return { value: undefined, done: true }; },
    [Symbol.asyncIterator]() { return this; },
  };
}

module.exports = {
  setTimeout: wait, setImmediate: soon, setInterval: every,
  scheduler: { wait: (ms, options) => wait(ms, undefined, options), yield: () => soon() },
};
