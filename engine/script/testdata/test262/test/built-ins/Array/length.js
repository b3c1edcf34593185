/*---
description: a test with a file of the harness
includes: [extra.js]
---*/
assert.sameValue([1, 2, 3].length, three());
