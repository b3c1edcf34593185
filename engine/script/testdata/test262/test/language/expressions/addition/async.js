/*---
description: an asynchronous test
flags: [async]
---*/
Promise.resolve(1).then(n => assert.sameValue(n + 1, 2)).then($DONE, $DONE);
