/*---
description: a module with a fixture
flags: [module]
---*/
import { one } from './one_FIXTURE.js';
assert.sameValue(one, 1);
assert.sameValue(this, undefined);
