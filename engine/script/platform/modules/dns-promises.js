// dns/promises: the constants.
'use strict';

const dns = require('dns');
for (const name of Object.keys(dns).filter((n) => n !== 'promises')) {
  if (typeof dns[name] === 'string' || /^get|^setDefault/.test(name)) exports[name] = dns[name];
}
