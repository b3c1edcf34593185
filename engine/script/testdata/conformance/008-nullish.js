// feature: ?? (nullish coalescing)
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is([null ?? 1, undefined ?? 2, 0 ?? 3, '' ?? 4, false ?? 5], [1, 2, 0, '', false]);
  let called = 0;
  const f = () => { called++; return 1; };
  is([7 ?? f(), called], [7, 0]);
  is((null || undefined) ?? 'x', 'x');
});
