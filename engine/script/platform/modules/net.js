// net: the functions for addresses.
'use strict';

const isIP = (s) => native.version(String(s));
let family = true, attempt = 250;

module.exports = {
  isIP, isIPv4: (s) => isIP(s) === 4, isIPv6: (s) => isIP(s) === 6,
  getDefaultAutoSelectFamily: () => family, setDefaultAutoSelectFamily: (v) => { family = v; },
  getDefaultAutoSelectFamilyAttemptTimeout: () => attempt, setDefaultAutoSelectFamilyAttemptTimeout: (v) => { attempt = v; },
};
