// console: the global, and the class of such objects.
'use strict';

// Console writes to streams, as in Node.
function Console(out, errors) {
  const options = out && typeof out.write !== 'function' ? out : { stdout: out, stderr: errors };
  const write = (stream) => (...values) => { stream.write(require('util').format(...values) + '\n'); };
  const normal = write(options.stdout), wrong = write(options.stderr || options.stdout);
  for (const name of ['log', 'info', 'debug', 'dir', 'dirxml', 'table']) this[name] = normal;
  for (const name of ['error', 'warn', 'trace']) this[name] = wrong;
  this.assert = (ok, ...values) => { if (!ok) wrong('Assertion failed', ...values); };
  for (const name of ['group', 'groupCollapsed', 'groupEnd', 'time', 'timeEnd', 'timeLog', 'count', 'countReset', 'clear']) this[name] = () => {};
}

module.exports = Object.assign(Object.create(console), console, { Console });
