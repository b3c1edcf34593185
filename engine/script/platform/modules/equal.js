// Comparison of values by content, for util and assert.
'use strict';

const tag = (v) => Object.prototype.toString.call(v).slice(8, -1);
const boxes = { Number: Number, String: String, Boolean: Boolean };

function same(a, b, strict) {
  return strict ? Object.is(a, b) : a == b || (a !== a && b !== b);
}

function keysOf(o, strict) {
  const keys = Object.keys(o);
  if (strict) {
    for (const s of Object.getOwnPropertySymbols(o)) if (Object.prototype.propertyIsEnumerable.call(o, s)) keys.push(s);
  }
  return keys;
}

// bytes returns the memory of a buffer or of a view.
function bytes(v) {
  return v instanceof ArrayBuffer ? new Uint8Array(v) : new Uint8Array(v.buffer, v.byteOffset, v.byteLength);
}

function sameBytes(a, b) {
  const x = bytes(a), y = bytes(b);
  if (x.length !== y.length) return false;
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
  return true;
}

// partner removes the element of rest that equals v and returns it.
function partner(v, rest, strict, seen) {
  for (const other of rest) {
    if (equal(v, other, strict, seen)) {
      rest.delete(other);
      return true;
    }
  }
  return false;
}

function sameSet(a, b, strict, seen) {
  if (a.size !== b.size) return false;
  const rest = new Set(b), open = [];
  for (const v of a) if (!rest.delete(v)) open.push(v);
  return open.every((v) => partner(v, rest, strict, seen));
}

function sameMap(a, b, strict, seen) {
  if (a.size !== b.size) return false;
  const rest = new Set(), open = [];
  for (const [k, v] of a) {
    if (b.has(k)) {
      if (!equal(v, b.get(k), strict, seen)) return false;
    } else open.push([k, v]);
  }
  for (const [k, v] of b) if (!a.has(k)) rest.add([k, v]);
  return open.length === rest.size && open.every((pair) => partner(pair, rest, strict, seen));
}

function special(a, b, kind, strict, seen) {
  if (a instanceof Error || b instanceof Error) {
    return a instanceof Error && b instanceof Error && a.name === b.name && a.message === b.message &&
      equal(a.cause, b.cause, strict, seen) && equal(a.errors, b.errors, strict, seen);
  }
  if (kind in boxes) return same(a.valueOf(), b.valueOf(), true);
  switch (kind) {
    case 'Date': return same(a.getTime(), b.getTime(), true);
    case 'RegExp': return a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex;
    case 'Set': return sameSet(a, b, strict, seen);
    case 'Map': return sameMap(a, b, strict, seen);
    case 'ArrayBuffer': case 'DataView': return sameBytes(a, b);
    case 'WeakMap': case 'WeakSet': case 'Promise': return false;
    default: return true;
  }
}

function equal(a, b, strict, seen) {
  if (same(a, b, strict)) return true;
  const objects = a !== null && b !== null && typeof a === 'object' && typeof b === 'object';
  if (!objects) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const kind = tag(a);
  if (kind !== tag(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (seen.get(a) === b) return true; // a cycle that is equal so far
  seen.set(a, b);
  const result = contents(a, b, kind, strict, seen);
  seen.delete(a);
  return result;
}

function contents(a, b, kind, strict, seen) {
  if (ArrayBuffer.isView(a) && a.length !== undefined) {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!same(a[i], b[i], strict)) return false;
    return true;
  }
  if (!special(a, b, kind, strict, seen)) return false;
  if (Array.isArray(a) && a.length !== b.length) return false;
  const keys = keysOf(a, strict), others = keysOf(b, strict);
  return keys.length === others.length && keys.every((k) =>
    Object.prototype.hasOwnProperty.call(b, k) && equal(a[k], b[k], strict, seen));
}

exports.deepEqual = (a, b) => equal(a, b, false, new Map());
exports.deepStrictEqual = (a, b) => equal(a, b, true, new Map());
