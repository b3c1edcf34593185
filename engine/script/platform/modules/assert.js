// assert as in Node.
'use strict';

const { inspect } = require('util');
const { deepEqual, deepStrictEqual } = require('#equal');

const show = (v) => inspect(v, { depth: 100, sorted: true, maxArrayLength: Infinity });
// broad prints an object on several lines, one for each property.
const broad = (v) => inspect(v, { depth: 100, sorted: true, maxArrayLength: Infinity, breakLength: 1, compact: false }).split('\n');

const heads = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  deepEqual: 'Expected values to be loosely deep-equal:',
};
const refusals = {
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

function wrongType(message) {
  const e = new TypeError(message);
  e.code = 'ERR_INVALID_ARG_TYPE';
  return e;
}

const maxDiffLines = 1000;

// diff marks the lines of a that are not in b by +, and those of b that are not in a by -.
function diff(a, b) {
  if (a.length * b.length > maxDiffLines * maxDiffLines) return ['  (too long for a comparison)'];
  const lengths = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push('  ' + a[i++]); j++; }
    else if (i < a.length && (j === b.length || lengths[i + 1][j] >= lengths[i][j + 1])) out.push('+ ' + a[i++]);
    else out.push('- ' + b[j++]);
  }
  return shorten(out);
}

// shorten omits long runs of equal lines.
function shorten(lines) {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - 2), i + 3).some((l) => l[0] !== ' '));
  const out = [];
  lines.forEach((line, i) => {
    if (near[i]) out.push(line);
    else if (i === 0 || near[i - 1]) out.push('...');
  });
  return out;
}

function describe(actual, expected, operator) {
  if (refusals[operator]) return refusals[operator] + (Object(expected) === expected ? '\n\n' : ' ') + show(expected);
  if (!heads[operator]) return show(actual) + ' ' + operator + ' ' + show(expected);
  const simple = [actual, expected].every((v) => v === null || (typeof v !== 'object' && typeof v !== 'function' && String(v).length < 40));
  if (simple && operator !== 'deepEqual') return heads[operator] + '\n\n' + show(actual) + ' !== ' + show(expected) + '\n';
  return heads[operator] + '\n+ actual - expected\n\n' + diff(broad(actual), broad(expected)).join('\n');
}

class AssertionError extends Error {
  constructor({ message, actual, expected, operator, stackStartFn } = {}) {
    super(message !== undefined ? String(message) : describe(actual, expected, operator));
    Object.defineProperty(this, 'name', { value: 'AssertionError', writable: true, configurable: true });
    this.generatedMessage = message === undefined;
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    if (stackStartFn) Error.captureStackTrace(this, stackStartFn);
  }
}

function failed(message, actual, expected, operator, from) {
  if (message instanceof Error) return message;
  return new AssertionError({ message, actual, expected, operator, stackStartFn: from });
}

// compare returns an assertion about two values. holds returns true if the assertion is met.
function compare(operator, holds) {
  const f = { [operator](actual, expected, message) {
    if (arguments.length < 2) {
      const e = new TypeError('The "actual" and "expected" arguments must be specified');
      e.code = 'ERR_MISSING_ARGS';
      throw e;
    }
    if (!holds(actual, expected)) throw failed(message, actual, expected, operator, f);
  } }[operator];
  return f;
}

const loose = (a, b) => a == b || (a !== a && b !== b);
const equal = compare('==', loose), notEqual = compare('!=', (a, b) => !loose(a, b));

function ok(value, message) {
  if (value) return;
  if (arguments.length === 0) message = 'No value argument passed to `assert.ok()`';
  throw failed(message ?? 'The expression evaluated to a falsy value: ' + show(value), value, true, '==', ok);
}

function assert(value, message) {
  if (!value) throw failed(message ?? 'The expression evaluated to a falsy value: ' + show(value), value, true, '==', assert);
}

// check compares a thrown value to the expected one: a class, an expression, a function that returns true, or an
// object of properties.
function check(thrown, expected, message, operator, from) {
  if (expected === undefined) return;
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && thrown instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) {
      throw failed(message ?? 'The error is expected to be an instance of "' + expected.name + '". Received ' + (thrown instanceof Error ? '"' + thrown.name + '"\n\nError message:\n\n' + thrown.message : show(thrown)), thrown, expected, operator, from);
    }
    if (expected.call({}, thrown) === true) return;
    throw failed(message ?? 'The ' + (expected.name || 'validation') + ' function is expected to return "true". Caught: ' + show(thrown), thrown, expected, operator, from);
  }
  if (expected instanceof RegExp) {
    if (expected.test(String(thrown))) return;
    throw failed(message ?? 'The input did not match the regular expression ' + expected + '. Input: ' + show(String(thrown)), thrown, expected, operator, from);
  }
  if (expected === null || typeof expected !== 'object') throw wrongType('what is expected must be a function, an Error, an object or a RegExp');
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push('name', 'message');
  for (const k of keys) {
    const got = thrown === null || thrown === undefined ? undefined : thrown[k];
    if (expected[k] instanceof RegExp && typeof got === 'string' ? expected[k].test(got) : deepStrictEqual(got, expected[k])) continue;
    const shape = (e) => Object.fromEntries(keys.map((name) => [name, Object(e)[name]]));
    throw failed(message ?? describe(shape(thrown), shape(expected), 'deepStrictEqual'), thrown, expected, operator, from);
  }
}

function missing(what, expected, message, operator, from) {
  const name = typeof expected === 'function' && expected.name ? ' (' + expected.name + ')' : '';
  return failed(message instanceof Error ? message : 'Missing expected ' + what + name + (message === undefined ? '.' : ': ' + message), undefined, expected, operator, from);
}

// split accepts a message in the place of the expected value.
const split = (expected, message) => (typeof expected === 'string' ? [undefined, expected] : [expected, message]);

function throws(f, ...rest) {
  if (typeof f !== 'function') throw wrongType('The "fn" argument must be of type function. Received ' + typeof f);
  const [expected, message] = split(...rest);
  let thrown, any = false;
  try { f(); } catch (e) { thrown = e; any = true; }
  if (!any) throw missing('exception', expected, message, 'throws', throws);
  check(thrown, expected, message, 'throws', throws);
}

function doesNotThrow(f, ...rest) {
  const [expected, message] = split(...rest);
  try { f(); } catch (e) {
    if (typeof expected === 'function' && !(e instanceof expected)) throw e;
    throw failed('Got unwanted exception' + (message ? ': ' + message : '.') + '\nActual message: "' + (e && e.message) + '"', e, expected, 'doesNotThrow', doesNotThrow);
  }
}

async function settle(work) {
  const promise = typeof work === 'function' ? work() : work;
  if (promise === null || typeof promise !== 'object' || typeof promise.then !== 'function') {
    throw wrongType('expected a promise, or a function that returns one');
  }
  try { await promise; } catch (e) { return [true, e]; }
  return [false];
}

async function rejects(work, ...rest) {
  const [expected, message] = split(...rest), [any, thrown] = await settle(work);
  if (!any) throw missing('rejection', expected, message, 'rejects', rejects);
  check(thrown, expected, message, 'rejects', rejects);
}

async function doesNotReject(work, ...rest) {
  const [expected, message] = split(...rest), [any, thrown] = await settle(work);
  if (!any) return;
  if (typeof expected === 'function' && !(thrown instanceof expected)) throw thrown;
  throw failed('Got unwanted rejection' + (message ? ': ' + message : '.') + '\nActual message: "' + (thrown && thrown.message) + '"', thrown, expected, 'doesNotReject', doesNotReject);
}

function expression(operator, wanted) {
  const f = { [operator](text, pattern, message) {
    if (!(pattern instanceof RegExp)) throw wrongType('The "regexp" argument must be an instance of RegExp');
    if (typeof text === 'string' && pattern.test(text) === wanted) return;
    const why = typeof text !== 'string' ? 'The "string" argument must be of type string. Received ' + typeof text :
      'The input ' + (wanted ? 'did not match' : 'was expected to not match') + ' the regular expression ' + pattern + '. Input:\n\n' + show(text) + '\n';
    throw failed(message ?? why, text, pattern, operator, f);
  } }[operator];
  return f;
}

function fail(message) { throw failed(message ?? 'Failed', undefined, undefined, 'fail', fail); }

function ifError(value) {
  if (value === null || value === undefined) return;
  throw failed('ifError got unwanted exception: ' + (value instanceof Error ? value.message : show(value)), value, null, 'ifError', ifError);
}

const same = {
  ok, fail, ifError, throws, doesNotThrow, rejects, doesNotReject, AssertionError,
  strictEqual: compare('strictEqual', Object.is),
  notStrictEqual: compare('notStrictEqual', (a, b) => !Object.is(a, b)),
  deepStrictEqual: compare('deepStrictEqual', deepStrictEqual),
  notDeepStrictEqual: compare('notDeepStrictEqual', (a, b) => !deepStrictEqual(a, b)),
  match: expression('match', true),
  doesNotMatch: expression('doesNotMatch', false),
};
Object.assign(assert, same, {
  equal, notEqual,
  deepEqual: compare('deepEqual', deepEqual),
  notDeepEqual: compare('notDeepEqual', (a, b) => !deepEqual(a, b)),
});

function strict(value, message) { assert(value, message); }
Object.assign(strict, same, {
  equal: same.strictEqual, notEqual: same.notStrictEqual, deepEqual: same.deepStrictEqual, notDeepEqual: same.notDeepStrictEqual,
});
assert.strict = strict.strict = strict;
module.exports = assert;
