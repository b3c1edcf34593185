/*---
description: a test that passes in sloppy mode only
---*/
assert.sameValue(typeof (function () { return this; })(), 'object');
