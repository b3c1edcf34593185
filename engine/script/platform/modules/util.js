// util as in Node, as far as scripts need it.
'use strict';

const { deepStrictEqual } = require('#equal');

const custom = Symbol.for('nodejs.util.promisify.custom');
const inspectCustom = Symbol.for('nodejs.util.inspect.custom');
const tag = (v) => Object.prototype.toString.call(v).slice(8, -1);

function fault(name, want, got) {
  const e = new TypeError('The "' + name + '" argument must be ' + want + '. Received ' + (got === null ? 'null' : typeof got));
  e.code = 'ERR_INVALID_ARG_TYPE';
  return e;
}

function inspect(value, options, ...old) {
  if (typeof options === 'boolean' || old.length) options = { showHidden: !!options, depth: old[0] };
  return native.inspect(value, options);
}
inspect.custom = inspectCustom;
inspect.defaultOptions = { depth: 2, breakLength: 80, maxArrayLength: 100, maxStringLength: 10000, sorted: false };

const format = (...values) => native.format(undefined, ...values);
const formatWithOptions = (options, ...values) => native.format(options, ...values);

function promisify(f) {
  if (typeof f !== 'function') throw fault('original', 'of type function', f);
  if (f[custom]) {
    if (typeof f[custom] !== 'function') throw fault('util.promisify.custom', 'of type function', f[custom]);
    return f[custom];
  }
  function promised(...args) {
    return new Promise((resolve, reject) => {
      f.call(this, ...args, (err, ...values) => (err ? reject(err) : resolve(values[0])));
    });
  }
  Object.setPrototypeOf(promised, Object.getPrototypeOf(f));
  Object.defineProperty(promised, custom, { value: promised, configurable: true });
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(f));
}
promisify.custom = custom;

function callbackify(f) {
  if (typeof f !== 'function') throw fault('original', 'of type function', f);
  return function (...args) {
    const done = args.pop();
    if (typeof done !== 'function') throw fault('last argument', 'of type function', done);
    Promise.resolve(f.apply(this, args)).then(
      (value) => setImmediate(() => done.call(this, null, value)),
      (err) => setImmediate(() => {
        if (!err) {
          const why = new Error('Promise was rejected with falsy value');
          why.reason = err;
          why.code = 'ERR_FALSY_VALUE_REJECTION';
          err = why;
        }
        done.call(this, err);
      }));
  };
}

function inherits(constructor, parent) {
  if (typeof constructor !== 'function') throw fault('ctor', 'of type function', constructor);
  if (typeof parent !== 'function') throw fault('superCtor', 'of type function', parent);
  if (parent.prototype === undefined) throw fault('superCtor.prototype', 'of type object', parent.prototype);
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const warned = new Set();

function deprecate(f, message, code) {
  let told = false;
  return Object.defineProperties(function deprecated(...args) {
    if (!told && !(code && warned.has(code))) {
      told = true;
      if (code) warned.add(code);
      console.warn('DeprecationWarning' + (code ? ' [' + code + ']' : '') + ': ' + message);
    }
    return new.target ? Reflect.construct(f, args, new.target) : f.apply(this, args);
  }, { prototype: { value: f.prototype }, name: { value: f.name, configurable: true } });
}

const kinds = {
  isDate: 'Date', isRegExp: 'RegExp', isMap: 'Map', isSet: 'Set', isWeakMap: 'WeakMap', isWeakSet: 'WeakSet', isPromise: 'Promise',
  isGeneratorObject: 'Generator', isGeneratorFunction: 'GeneratorFunction', isMapIterator: 'Map Iterator', isSetIterator: 'Set Iterator',
  isUint8Array: 'Uint8Array', isUint8ClampedArray: 'Uint8ClampedArray', isUint16Array: 'Uint16Array', isUint32Array: 'Uint32Array',
  isInt8Array: 'Int8Array', isInt16Array: 'Int16Array', isInt32Array: 'Int32Array', isFloat32Array: 'Float32Array', isFloat64Array: 'Float64Array',
  isBigInt64Array: 'BigInt64Array', isBigUint64Array: 'BigUint64Array', isDataView: 'DataView', isArrayBuffer: 'ArrayBuffer',
  isAnyArrayBuffer: 'ArrayBuffer', isArgumentsObject: 'Arguments', isAsyncFunction: 'AsyncFunction',
};
const types = {
  isNativeError: (v) => v instanceof Error,
  isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView),
  isArrayBufferView: (v) => ArrayBuffer.isView(v),
  isBoxedPrimitive: (v) => v !== null && typeof v === 'object' && ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'].includes(tag(v)),
};
for (const [name, boxed] of Object.entries({ isNumberObject: 'Number', isStringObject: 'String', isBooleanObject: 'Boolean', isSymbolObject: 'Symbol', isBigIntObject: 'BigInt' })) {
  types[name] = (v) => v !== null && typeof v === 'object' && tag(v) === boxed;
}
for (const [name, kind] of Object.entries(kinds)) {
  types[name] = (v) => v !== null && (typeof v === 'object' || typeof v === 'function') && tag(v) === kind;
}

module.exports = {
  inspect, format, formatWithOptions, promisify, callbackify, inherits, deprecate, types,
  isDeepStrictEqual: (a, b) => deepStrictEqual(a, b),
  debuglog: () => Object.assign(() => {}, { enabled: false }),
  stripVTControlCharacters: (s) => s.replace(/[\u001b\u009b][[()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]/g, ''),
  toUSVString: (s) => String(s).toWellFormed(),
  get TextEncoder() { return TextEncoder; },
  get TextDecoder() { return TextDecoder; },

  isArray: Array.isArray,
  isBoolean: (v) => typeof v === 'boolean',
  isNull: (v) => v === null,
  isNullOrUndefined: (v) => v === null || v === undefined,
  isNumber: (v) => typeof v === 'number',
  isString: (v) => typeof v === 'string',
  isSymbol: (v) => typeof v === 'symbol',
  isUndefined: (v) => v === undefined,
  isRegExp: types.isRegExp,
  isObject: (v) => v !== null && typeof v === 'object',
  isDate: types.isDate,
  isError: (v) => v instanceof Error,
  isFunction: (v) => typeof v === 'function',
  isPrimitive: (v) => v === null || (typeof v !== 'object' && typeof v !== 'function'),
  isBuffer: (v) => Buffer.isBuffer(v),
};
