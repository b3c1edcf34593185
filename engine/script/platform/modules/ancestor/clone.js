// The npm package clone: copies a value up to a given depth. Prototypes are the same. Cycles are copied, unless
// circular is false, which asserts that there are none.
'use strict';

function copyOf(value, seen, depth, prototype) {
  if (value === null || typeof value !== 'object' || depth <= 0) {
    return value;
  }
  if (seen && seen.has(value)) {
    return seen.get(value);
  }
  const inner = (v) => copyOf(v, seen, depth - 1, prototype);
  let copy;
  if (Array.isArray(value)) {
    copy = [];
  } else if (value instanceof Date) {
    copy = new Date(value.getTime());
  } else if (value instanceof RegExp) {
    copy = new RegExp(value.source, value.flags);
    copy.lastIndex = value.lastIndex;
  } else if (value instanceof Map || value instanceof Set) {
    copy = value instanceof Map ? new Map() : new Set();
  } else if (ArrayBuffer.isView(value)) {
    return value.slice();
  } else if (value instanceof Error || value instanceof Promise) {
    return value;
  } else {
    copy = Object.create(prototype === undefined ? Object.getPrototypeOf(value) : prototype);
  }
  if (seen) {
    seen.set(value, copy);
  }
  if (value instanceof Map) {
    value.forEach((v, k) => copy.set(inner(k), inner(v)));
  } else if (value instanceof Set) {
    value.forEach((v) => copy.add(inner(v)));
  }
  for (const key of Object.keys(value)) {
    Object.defineProperty(copy, key, { value: inner(value[key]), writable: true, enumerable: true, configurable: true });
  }
  return copy;
}

module.exports = function clone(value, circular, depth, prototype) {
  if (circular !== null && typeof circular === 'object') {
    ({ circular, depth, prototype } = circular);
  }
  return copyOf(value, circular === false ? null : new Map(), depth === undefined ? Infinity : depth, prototype);
};

module.exports.clonePrototype = (parent) => parent === null ? null : Object.create(parent);
