// The functions and classes of fs and fs/promises. The application directory is the folder /. Files cannot be changed.
'use strict';

const { Readable } = require('stream');
const { errno, files: constants } = require('#errno');

const texts = {
  ENOENT: 'no such file or directory', EACCES: 'permission denied', ENOTDIR: 'not a directory', EISDIR: 'illegal operation on a directory', EIO: 'i/o error',
  ENAMETOOLONG: 'name too long', ELOOP: 'too many symbolic links encountered', EBADF: 'bad file descriptor', EINVAL: 'invalid argument',
  EROFS: 'read-only file system: scripts only read files of the application directory; use fileStorage to store files',
};

function fault(code, call, path) {
  const e = new Error(code + ': ' + (texts[code] || code) + ', ' + call + (path === undefined ? '' : " '" + path + "'"));
  return Object.assign(e, { errno: -(errno[code] || errno.EIO), code, syscall: call }, path === undefined ? {} : { path });
}

function wrongType(name, expected, value) {
  const e = new TypeError('The "' + name + '" argument must be ' + expected + '. Received ' + (value === null ? 'null' : typeof value));
  return Object.assign(e, { code: 'ERR_INVALID_ARG_TYPE' });
}

// text returns a path as text.
function text(path) {
  if (path instanceof URL) path = require('url').fileURLToPath(path);
  else if (path instanceof Uint8Array) path = Buffer.from(path).toString();
  if (typeof path !== 'string') throw wrongType('path', 'of type string or an instance of Buffer or URL', path);
  if (path.includes('\0')) throw Object.assign(new TypeError("The argument 'path' must be a string, Uint8Array, or URL without null bytes. Received '" + path + "'"), { code: 'ERR_INVALID_ARG_VALUE' });
  return path;
}

// asked calls a Go function with a path. It throws an error in the name of the system call.
function asked(f, call, path) {
  const name = text(path), result = name === '' ? 'ENOENT' : f(name);
  if (typeof result === 'string') throw fault(result, call, name);
  return result;
}

const flagsOf = (options, initial) => (options && typeof options === 'object' && options.flag) || initial;

function readOnly(flag, call, path) {
  if (typeof flag === 'number' ? flag & 3 : !/^r[s]?$/.test(flag)) throw fault('EROFS', call, path);
}

class Stats {
  constructor(kind, size, time) {
    const mode = { file: 0o100444, dir: 0o040555 }[kind] || 0;
    Object.assign(this, {
      dev: 0, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, blksize: 4096, ino: 0, size, blocks: Math.ceil(size / 512), atimeMs: time, mtimeMs: time, ctimeMs: time,
      birthtimeMs: time, atime: new Date(time), mtime: new Date(time), ctime: new Date(time), birthtime: new Date(time),
    });
  }
  isFile() { return (this.mode & 0o170000) === 0o100000; }
  isDirectory() { return (this.mode & 0o170000) === 0o040000; }
  isSymbolicLink() { return false; }
  isBlockDevice() { return false; }
  isCharacterDevice() { return false; }
  isFIFO() { return false; }
  isSocket() { return false; }
}

class Dirent {
  #kind;
  constructor(name, path, kind) {
    this.name = name;
    this.parentPath = this.path = path;
    this.#kind = kind;
  }
  isFile() { return this.#kind === 'file'; }
  isDirectory() { return this.#kind === 'dir'; }
  isSymbolicLink() { return false; }
  isBlockDevice() { return false; }
  isCharacterDevice() { return false; }
  isFIFO() { return false; }
  isSocket() { return false; }
}

const open = new Map(); // open files {path, bytes, at} by descriptor
let last = 2;
const maxOpen = 1000;

function opened(fd, call) {
  if (typeof fd !== 'number') throw wrongType('fd', 'of type number', fd);
  const file = open.get(fd);
  if (!file) throw fault('EBADF', call);
  return file;
}

const encodingOf = (options) => (typeof options === 'string' ? options : options && options.encoding);
const encoded = (bytes, options) => {
  const encoding = encodingOf(options);
  return encoding && encoding !== 'buffer' ? bytes.toString(encoding) : bytes;
};

function list(path, recursive, prefix, all) {
  const entries = asked(native.list, 'scandir', path);
  for (let i = 0; i < entries.length; i += 2) {
    const name = entries[i], below = text(path).replace(/\/*$/, '/') + name;
    all.push({ name, shown: prefix + name, path: text(path), kind: entries[i + 1] });
    if (recursive && entries[i + 1] === 'dir') list(below, true, prefix + name + '/', all);
  }
  return all;
}

// sync are the functions that return their result. The other forms of each are made from it.
const sync = {
  access(path, mode = 0) {
    asked(native.stat, 'access', path);
    if (mode & 2) throw fault('EROFS', 'access', text(path));
  },
  readFile(path, options) {
    if (typeof path === 'number') return encoded(Buffer.from(opened(path, 'read').bytes.subarray(opened(path, 'read').at)), options);
    readOnly(flagsOf(options, 'r'), 'open', path);
    const name = text(path), bytes = name === '' ? 'ENOENT' : native.read(name);
    if (typeof bytes === 'string') throw bytes === 'EISDIR' ? fault(bytes, 'read') : fault(bytes, 'open', name);
    return encoded(Buffer.from(bytes), options);
  },
  readdir(path, options) {
    const all = list(path, !!(options && options.recursive), '', []);
    if (options && options.withFileTypes) return all.map((e) => new Dirent(e.name, e.path, e.kind));
    return encodingOf(options) === 'buffer' ? all.map((e) => Buffer.from(e.shown)) : all.map((e) => e.shown);
  },
  realpath: (path) => asked(native.real, 'realpath', path)[0],
  stat(path, options) {
    try {
      return new Stats(...asked(native.stat, 'stat', path));
    } catch (e) {
      if (options && options.throwIfNoEntry === false && e.code === 'ENOENT') return undefined;
      throw e;
    }
  },
  lstat: (path, options) => sync.stat(path, options),
  readlink(path) {
    asked(native.stat, 'readlink', path);
    throw fault('EINVAL', 'readlink', text(path));
  },
  statfs: (path) => {
    asked(native.stat, 'statfs', path);
    return { type: 0, bsize: 4096, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0 };
  },
  open(path, flag = 'r') {
    readOnly(flag, 'open', path);
    const bytes = sync.readFile(path);
    if (open.size >= maxOpen) throw fault('EMFILE', 'open', text(path));
    open.set(++last, { path: text(path), bytes, at: 0 });
    return last;
  },
  close(fd) {
    opened(fd, 'close');
    open.delete(fd);
  },
  fstat: (fd) => sync.stat(opened(fd, 'fstat').path),
  read(fd, buffer, offset = 0, length, position = null) {
    const file = opened(fd, 'read');
    if (offset !== null && typeof offset === 'object') ({ offset = 0, length, position = null } = offset);
    if (length === undefined || length === null) length = buffer.byteLength - offset;
    const from = position === null || position < 0 ? file.at : Number(position), part = file.bytes.subarray(from, from + length);
    new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(part, offset);
    if (position === null || position < 0) file.at = from + part.length;
    return part.length;
  },
  readv(fd, buffers, position = null) {
    let total = 0;
    for (const b of buffers) total += sync.read(fd, b, 0, b.byteLength, position === null ? null : position + total);
    return total;
  },
  write(fd, data, offset, length, encoding) {
    if (fd !== 1 && fd !== 2) throw fault(open.has(fd) ? 'EROFS' : 'EBADF', 'write');
    let chunk = data;
    if (typeof data === 'string') chunk = Buffer.from(data, typeof length === 'string' ? length : encoding);
    else if (typeof offset === 'number') chunk = data.subarray(offset, length === undefined || length === null ? undefined : offset + length);
    require('#stdio')[fd].write(Buffer.from(chunk));
    return chunk.length;
  },
  opendir(path) { return new Dir(text(path), list(path, false, '', [])); },
};

class Dir {
  #entries;
  constructor(path, entries) {
    this.path = path;
    this.#entries = entries.map((e) => new Dirent(e.name, e.path, e.kind));
  }
  readSync() { return this.#entries.shift() || null; }
  async read() { return this.readSync(); }
  closeSync() {}
  async close() {}
  [Symbol.asyncIterator]() {
    return { next: async () => { const value = this.readSync(); return { value: value === null ? undefined : value, done: value === null }; }, [Symbol.asyncIterator]() { return this; } };
  }
}

class ReadStream extends Readable {
  #start; #end; #bytes = null;
  constructor(path, options = {}) {
    if (typeof options === 'string') options = { encoding: options };
    super({ highWaterMark: options.highWaterMark || 64 * 1024, encoding: options.encoding, emitClose: options.emitClose, signal: options.signal });
    readOnly(options.flags || 'r', 'open', path);
    this.path = options.fd === undefined || options.fd === null ? text(path) : undefined;
    this.fd = options.fd === undefined ? null : options.fd;
    this.bytesRead = 0;
    this.#start = options.start || 0;
    this.#end = options.end === undefined ? Infinity : options.end + 1;
  }
  _construct(done) {
    try {
      this.#bytes = this.fd === null ? sync.readFile(this.path) : opened(this.fd, 'read').bytes;
    } catch (e) {
      return done(e);
    }
    process.nextTick(() => {
      this.emit('open', this.fd);
      this.emit('ready');
    });
    done();
  }
  _read(size) {
    const part = this.#bytes.subarray(this.#start, Math.min(this.#start + size, this.#end));
    this.#start += part.length;
    this.bytesRead += part.length;
    this.push(part.length ? part : null);
  }
  close(done) {
    if (done) this.once('close', done);
    this.destroy();
  }
}

module.exports = { sync, wrongType, constants, Stats, Dirent, Dir, ReadStream };
