// A readable stream as in Node over content in memory. The whole content is one chunk, which is emitted after the
// first listener for data, pipe or resume.
'use strict';

const EventEmitter = require('events');

module.exports = class Content extends EventEmitter {
  constructor(bytes) {
    super();
    this.readable = true;
    Object.defineProperty(this, '_rest', { value: bytes, writable: true });
    Object.defineProperty(this, '_flows', { value: false, writable: true });
  }

  on(event, listener) {
    super.on(event, listener);
    return event === 'data' ? this.resume() : this;
  }

  once(event, listener) {
    super.once(event, listener);
    return event === 'data' ? this.resume() : this;
  }

  addListener(event, listener) {
    return this.on(event, listener);
  }

  setEncoding(encoding) {
    this.encoding = encoding;
    return this;
  }

  // Returns the remaining content, or null at the end.
  read() {
    const rest = this._rest;
    this._rest = null;
    if (rest === null || rest.length === 0) {
      return null;
    }
    return this.encoding ? rest.toString(this.encoding) : rest;
  }

  resume() {
    if (!this._flows) {
      this._flows = true;
      setImmediate(() => {
        const chunk = this.read();
        if (chunk !== null) {
          this.emit('data', chunk);
        }
        this.readable = false;
        this.emit('end');
        this.emit('close');
      });
    }
    return this;
  }

  pause() {
    return this;
  }

  pipe(target, options) {
    this.on('data', (chunk) => target.write(chunk));
    if (!options || options.end !== false) {
      this.once('end', () => target.end());
    }
    return target;
  }

  [Symbol.asyncIterator]() {
    return {
      next: () => {
        const value = this.read();
        return Promise.resolve(value === null ? { done: true, value: undefined } : { done: false, value });
      },
      return: () => Promise.resolve({ done: true, value: undefined }),
      [Symbol.asyncIterator]() { return this; },
    };
  }
};
