/*---
description: a syntax error
negative:
  phase: parse
  type: SyntaxError
---*/
1 +;
