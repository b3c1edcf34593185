// diagnostics_channel as in Node.
'use strict';

const channels = new Map();

class Channel {
  constructor(name) {
    this.name = name;
    this._subscribers = [];
    this._stores = new Map();
  }
  get hasSubscribers() { return this._subscribers.length > 0 || this._stores.size > 0; }
  subscribe(f) {
    if (typeof f !== 'function') throw Object.assign(new TypeError('The "subscription" argument must be of type function'), { code: 'ERR_INVALID_ARG_TYPE' });
    this._subscribers = [...this._subscribers, f];
  }
  unsubscribe(f) {
    const at = this._subscribers.indexOf(f);
    if (at < 0) return false;
    this._subscribers = this._subscribers.filter((_, i) => i !== at);
    return true;
  }
  bindStore(store, transform) { this._stores.set(store, transform); }
  unbindStore(store) { return this._stores.delete(store); }
  publish(data) {
    for (const f of this._subscribers) {
      try {
        f(data, this.name);
      } catch (e) {
        setTimeout(() => { throw e; });
      }
    }
  }
  runStores(data, f, self, ...args) {
    let run = () => {
      this.publish(data);
      return Reflect.apply(f, self, args);
    };
    for (const [store, transform] of this._stores) {
      const inner = run;
      run = () => store.run(transform ? transform(data) : data, inner);
    }
    return run();
  }
}

function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol') {
    throw Object.assign(new TypeError('The "channel" argument must be of type string or an instance of Symbol'), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

const events = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

class TracingChannel {
  constructor(of) {
    for (const name of events) this[name] = typeof of === 'string' ? channel('tracing:' + of + ':' + name) : of[name];
  }
  get hasSubscribers() { return events.some((name) => this[name].hasSubscribers); }
  subscribe(handlers) { for (const name of events) if (handlers[name]) this[name].subscribe(handlers[name]); }
  unsubscribe(handlers) { return events.map((name) => !handlers[name] || this[name].unsubscribe(handlers[name])).every(Boolean); }
  traceSync(f, context = {}, self, ...args) {
    return this.start.runStores(context, () => {
      try {
        return context.result = Reflect.apply(f, self, args);
      } catch (e) {
        context.error = e;
        this.error.publish(context);
        throw e;
      } finally {
        this.end.publish(context);
      }
    });
  }
  tracePromise(f, context = {}, self, ...args) {
    const settled = (name) => (value) => {
      context[name] = value;
      if (name === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
      if (name === 'error') throw value;
      return value;
    };
    return this.start.runStores(context, () => {
      try {
        return Promise.resolve(Reflect.apply(f, self, args)).then(settled('result'), settled('error'));
      } catch (e) {
        context.error = e;
        this.error.publish(context);
        throw e;
      } finally {
        this.end.publish(context);
      }
    });
  }
  traceCallback(f, position = -1, context = {}, self, ...args) {
    const callback = args.at(position), channels = this;
    args.splice(position, 1, function (err, result) {
      if (err) {
        context.error = err;
        channels.error.publish(context);
      } else {
        context.result = result;
      }
      channels.asyncStart.runStores(context, () => {
        try {
          return Reflect.apply(callback, this, arguments);
        } finally {
          channels.asyncEnd.publish(context);
        }
      });
    });
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(f, self, args);
      } finally {
        this.end.publish(context);
      }
    });
  }
}

module.exports = {
  channel, Channel,
  hasSubscribers: (name) => channels.has(name) && channels.get(name).hasSubscribers,
  subscribe: (name, f) => channel(name).subscribe(f),
  unsubscribe: (name, f) => channel(name).unsubscribe(f),
  tracingChannel: (of) => new TracingChannel(of),
};
