/*---
description: a correct text that should be a syntax error
negative:
  phase: parse
  type: SyntaxError
---*/
1 + 1;
