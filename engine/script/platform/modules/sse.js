// Server-sent events, as the standard HTML defines them (section 9.2): the function eventStream of the module restsrv.
'use strict';

const fields = ['data', 'event', 'id', 'retry', 'comment'];

// line returns a field of one line. A line break in the value would begin another field, so it is an error.
function line(name, value) {
  const text = String(value);
  if (/[\r\n]/.test(text) || (name === 'id' && text.includes('\0'))) throw new TypeError('eventStream: the ' + name + ' of an event contains a line break or a null character');
  return name + ': ' + text + '\n';
}

// lines returns a field that may have several lines: each gets the name.
function lines(prefix, text) {
  return text.split(/\r\n|\r|\n/).map((part) => prefix + part + '\n').join('');
}

// encode returns the text of one event.
function encode(event) {
  if (event === null || typeof event !== 'object') return lines('data: ', String(event)) + '\n';
  for (const name of Object.keys(event)) {
    if (!fields.includes(name)) throw new TypeError('eventStream: an event has the members ' + fields.join(', ') + ', found ' + name + '; send other objects as {data: object}');
  }
  let text = '';
  if (event.comment !== undefined) text += lines(': ', String(event.comment));
  if (event.event !== undefined) text += line('event', event.event);
  if (event.id !== undefined) text += line('id', event.id);
  if (event.retry !== undefined) text += line('retry', milliseconds(event.retry));
  if (event.data !== undefined) text += lines('data: ', typeof event.data === 'string' ? event.data : JSON.stringify(event.data));
  return text + '\n';
}

function milliseconds(value) {
  if (!Number.isInteger(value) || value < 0) throw new TypeError('eventStream: retry is a whole number of milliseconds, found ' + String(value));
  return value;
}

// open returns [next, cancel] for the events.
function open(source) {
  if (typeof source === 'function') source = source();
  if (source !== null && typeof source === 'object') {
    if (typeof source.getReader === 'function') {
      const reader = source.getReader();
      return [() => reader.read(), (reason) => reader.cancel(reason)];
    }
    const iterate = source[Symbol.asyncIterator] || source[Symbol.iterator];
    if (typeof iterate === 'function') {
      const iterator = iterate.call(source);
      return [() => iterator.next(), () => (typeof iterator.return === 'function' ? iterator.return() : undefined)];
    }
  }
  throw new TypeError('eventStream: the events are an async iterator, a ReadableStream, or a function that returns one of them');
}

const described = new WeakMap();

class EventStream {
  constructor(source, { retry, heartbeat, headers } = {}) {
    const [next, cancel] = open(source);
    let first = retry === undefined ? '' : line('retry', milliseconds(retry)) + '\n';
    if (heartbeat !== undefined && !(typeof heartbeat === 'number' && heartbeat >= 1)) throw new TypeError('eventStream: heartbeat is a number of seconds, at least 1, found ' + String(heartbeat));
    const texts = {
      next: async () => {
        if (first !== '') {
          const text = first;
          first = '';
          return { done: false, value: text };
        }
        const { done, value } = await next();
        return done ? { done: true, value: undefined } : { done: false, value: encode(await value) };
      },
      return: async (reason) => {
        await cancel(reason);
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() { return this; },
    };
    described.set(this, { source: texts, heartbeat, headers });
  }
  get [Symbol.toStringTag]() { return 'EventStream'; }
}

module.exports = {
  eventStream: (source, options) => new EventStream(source, options),
  describe: (value) => described.get(value),
};
