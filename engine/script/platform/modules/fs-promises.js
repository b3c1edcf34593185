// fs/promises as in Node, on the functions of fs.
'use strict';

const { sync, constants, ReadStream } = require('#files');

class FileHandle {
  constructor(fd) { this.fd = fd; }
  async readFile(options) { return sync.readFile(this.fd, options); }
  async stat() { return sync.fstat(this.fd); }
  async read(buffer, offset, length, position) {
    if (!ArrayBuffer.isView(buffer)) ({ buffer = Buffer.alloc(16384), offset, length, position } = buffer || {});
    return { bytesRead: sync.read(this.fd, buffer, offset, length, position), buffer };
  }
  createReadStream(options) { return new ReadStream('', { ...options, fd: this.fd }); }
  async close() { sync.close(this.fd); }
}

module.exports = { constants };
for (const name of ['access', 'lstat', 'opendir', 'readdir', 'readlink', 'realpath', 'stat', 'statfs']) {
  module.exports[name] = Object.defineProperty(async (...args) => sync[name](...args), 'name', { value: name });
}
module.exports.open = async (path, flag) => new FileHandle(sync.open(path, flag));
module.exports.readFile = async (path, options) => sync.readFile(path instanceof FileHandle ? path.fd : path, options);
