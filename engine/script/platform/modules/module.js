// module as in Node: createRequire, and the names of the modules.
'use strict';

const names = ('assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs fs/promises ' +
  'http http2 https inspector inspector/promises module net os path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream ' +
  'stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib').split(' ');

function Module(id = '') {
  this.id = id;
  this.exports = {};
}
module.exports = Object.assign(Module, {
  Module, builtinModules: names, createRequire: native, globalPaths: [],
  isBuiltin: (name) => names.includes(String(name).replace(/^node:/, '')) || /^node:(test|sqlite)$/.test(name),
  syncBuiltinESMExports: () => {},
});
const wrapper = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];
Object.defineProperties(Module, { wrapper: { value: wrapper }, wrap: { value: (text) => wrapper[0] + text + wrapper[1] } });
