// fs as in Node, for files of the application directory.
'use strict';

const { sync, wrongType, constants, Stats, Dirent, Dir, ReadStream } = require('#files');

const fs = {
  constants, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, Stats, Dirent, Dir, ReadStream, FileReadStream: ReadStream,
  existsSync(path) {
    try {
      sync.access(path);
      return true;
    } catch {
      return false;
    }
  },
  exists(path, done) { process.nextTick(done, fs.existsSync(path)); },
  createReadStream: (path, options) => new ReadStream(path, options),
  unwatchFile() {},
  async openAsBlob(path, options) { return new Blob([sync.readFile(path)], options); },
  lchmod: undefined, lchmodSync: undefined,
};

// results are the arguments of callbacks after the error, for functions whose callback has more than one.
const results = { read: (n, args) => [n, args[1]], readv: (n, args) => [n, args[1]], write: (n, args) => [n, args[1]] };

for (const [name, f] of Object.entries(sync)) {
  fs[name + 'Sync'] = Object.defineProperty((...args) => f(...args), 'name', { value: name + 'Sync' });
  fs[name] = Object.defineProperty((...args) => {
    const done = args.pop();
    if (typeof done !== 'function') throw wrongType('cb', 'of type function', done);
    let error = null, values = [];
    try {
      const result = f(...args);
      values = results[name] ? results[name](result, args) : result === undefined ? [] : [result];
    } catch (e) {
      if (e.code === 'ERR_INVALID_ARG_TYPE') throw e;
      error = e;
    }
    setImmediate(() => (error ? done(error) : done(null, ...values)));
  }, 'name', { value: name });
}
fs.realpath.native = fs.realpath;
fs.realpathSync.native = fs.realpathSync;
Object.defineProperty(fs, 'promises', { get: () => require('fs/promises'), enumerable: true, configurable: true });
module.exports = fs;
