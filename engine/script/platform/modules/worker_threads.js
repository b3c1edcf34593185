// worker_threads: this is the only thread.
'use strict';

const data = new Map();

module.exports = {
  isMainThread: true, parentPort: null, workerData: null, threadId: 0, resourceLimits: {}, SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
  markAsUntransferable: () => {},
  getEnvironmentData: (key) => data.get(key),
  setEnvironmentData: (key, value) => { if (value === undefined) data.delete(key); else data.set(key, value); },
};

// The classes of the global object, if it has them; see nodeModules for the others.
for (const name of ['MessageChannel', 'MessagePort', 'BroadcastChannel']) if (globalThis[name]) module.exports[name] = globalThis[name];
