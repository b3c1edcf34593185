// feature: every module of Node loads; members that cannot work say at use what to use instead
// group: module
const { probe } = require('./check.js');

module.exports = probe(({ is, ok }) => {
  for (const [name, member, instead] of [['fs', 'writeFileSync', 'fileStorage'], ['http', 'createServer', 'routes'], ['child_process', 'exec', 'fetch'], ['net', 'connect', 'fetch'], ['node:vm', 'runInNewContext', 'require']]) {
    const f = require(name)[member];
    is(typeof f, 'function', name);
    let e;
    try { f('a', 'b'); } catch (x) { e = x; }
    is(e && e.code, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', name);
    ok(e && e.message.includes(instead) && e.message.includes(name.replace('node:', '') + '.' + member), name + ': ' + (e && e.message));
  }
});
