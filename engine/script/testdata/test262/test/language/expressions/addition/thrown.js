/*---
description: an error at run time
negative:
  phase: runtime
  type: TypeError
---*/
1n + 1;
