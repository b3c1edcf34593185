/*---
description: a wrong expectation
includes:
  - extra.js
---*/
assert.sameValue([1, 2].length, three());
