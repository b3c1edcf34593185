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
inspect.colors = Object.assign(Object.create(null), {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29],
  doubleunderline: [21, 24], black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39],
  bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49],
  framed: [51, 54], overlined: [53, 55], gray: [90, 39], redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39],
  magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39], bgGray: [100, 49], bgRedBright: [101, 49], bgGreenBright: [102, 49],
  bgYellowBright: [103, 49], bgBlueBright: [104, 49], bgMagentaBright: [105, 49], bgCyanBright: [106, 49], bgWhiteBright: [107, 49],
  grey: [90, 39], blackBright: [90, 39], bgGrey: [100, 49], bgBlackBright: [100, 49],
});
inspect.styles = Object.assign(Object.create(null), {
  special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold', string: 'green', symbol: 'green', date: 'magenta',
  regexp: 'red', module: 'underline',
});
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
  isExternal: () => false, isProxy: () => false, isModuleNamespaceObject: () => false, isSharedArrayBuffer: () => false,
  isCryptoKey: (v) => v !== null && typeof v === 'object' && tag(v) === 'CryptoKey',
  isKeyObject: (v) => v !== null && typeof v === 'object' && /KeyObject$/.test(v.constructor && v.constructor.name),
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

// styleText returns a text with the escape codes of terminals for the styles of inspect.colors.
function styleText(style, text) {
  let before = '', after = '';
  for (const name of [].concat(style)) {
    const codes = inspect.colors[name];
    if (!codes) throw Object.assign(new TypeError("The argument 'format' must be one of: " + Object.keys(inspect.colors).map((n) => "'" + n + "'").join(', ') + '. Received ' + inspect(name)), { code: 'ERR_INVALID_ARG_VALUE' });
    before += '\u001b[' + codes[0] + 'm';
    after = '\u001b[' + codes[1] + 'm' + after;
  }
  return before + text + after;
}

// parseEnv reads the format of files .env: NAME=value, with optional quotes.
function parseEnv(text) {
  const values = {};
  const line = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*('[^']*'|"[^"]*"|`[^`]*`|[^#\r\n]*)?[ \t]*(?:#.*)?$/gm;
  for (const [, name, raw = ''] of text.matchAll(line)) {
    const value = raw.trim(), quoted = /^(['"`])([^]*)\1$/.exec(value);
    values[name] = quoted ? (quoted[1] === '"' ? quoted[2].replace(/\\n/g, '\n') : quoted[2]) : value;
  }
  return values;
}

// aborted returns a promise that is fulfilled when the signal is aborted.
const aborted = (signal) => new Promise((done) => (signal.aborted ? done() : signal.addEventListener('abort', () => done(), { once: true })));

const debuglog = () => Object.assign(() => {}, { enabled: false });

module.exports = {
  inspect, format, formatWithOptions, promisify, callbackify, inherits, deprecate, types,
  isDeepStrictEqual: (a, b) => deepStrictEqual(a, b),
  debuglog, debug: debuglog, styleText, parseEnv, aborted,
  log: (...values) => console.log(...values),
  getSystemErrorMap: () => new Map(Object.entries(require('#errno').errno).map(([name, n]) => [-n, [name, name]])),
  getSystemErrorName: (n) => (Object.entries(require('#errno').errno).find(([, number]) => number === -n) || ['Unknown system error ' + n])[0],
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
