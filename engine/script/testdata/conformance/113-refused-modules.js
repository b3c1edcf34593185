// feature: fs, http and their like are refused with what to use instead
// group: module
const { probe } = require('./check.js');

module.exports = probe(({ is, ok }) => {
  for (const [name, instead] of [['fs', 'fileStorage'], ['node:fs/promises', 'fileStorage'], ['http', 'fetch'], ['https', 'fetch'], ['child_process', 'process'], ['net', 'fetch']]) {
    let e;
    try { require(name); } catch (x) { e = x; }
    is(e && e.code, 'MODULE_NOT_FOUND', name);
    ok(e && e.message.includes(instead) && e.message.includes(name.replace('node:', '')), name + ': ' + (e && e.message));
  }
});
