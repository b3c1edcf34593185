// Promise.withResolvers and Promise.try.
define(Promise, {
  withResolvers() {
    let resolve, reject;
    const promise = new this((ok, no) => { resolve = ok; reject = no; });
    return { promise, resolve, reject };
  },
  try(callback, ...args) {
    return new this((resolve) => resolve(callback(...args)));
  },
});
