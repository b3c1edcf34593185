/*---
description: an asynchronous test that fails
flags: [async]
---*/
Promise.resolve(1).then(n => assert.sameValue(n + 1, 3)).then($DONE, $DONE);
