// dns: the constants. Scripts resolve no names.
'use strict';

const codes = {};
for (const name of ['NODATA', 'FORMERR', 'SERVFAIL', 'NOTFOUND', 'NOTIMP', 'REFUSED', 'BADQUERY', 'BADNAME', 'BADFAMILY', 'BADRESP', 'CONNREFUSED', 'TIMEOUT', 'EOF',
  'FILE', 'NOMEM', 'DESTRUCTION', 'BADSTR', 'BADFLAGS', 'NONAME', 'BADHINTS', 'NOTINITIALIZED', 'LOADIPHLPAPI', 'ADDRGETNETWORKPARAMS', 'CANCELLED']) {
  codes[name] = 'E' + name;
}
let order = 'verbatim';
Object.assign(module.exports, codes, {
  ADDRCONFIG: 32, ALL: 16, V4MAPPED: 8, getServers: () => [],
  getDefaultResultOrder: () => order, setDefaultResultOrder: (to) => { order = to; },
});
Object.defineProperty(exports, 'promises', { get: () => require('dns/promises'), enumerable: true, configurable: true });
