// feature: export in all its forms (ES modules)
// group: language
import { probe } from './check.js';
import whole, { a, renamed, f, C, counter, increase } from './exports.mjs';
import * as all from './exports.mjs';

export default probe(({ is }) => {
  is([a, renamed, f(), new C().x, whole], [1, 2, 3, 4, 'default']);
  is(Object.keys(all).sort(), ['C', 'a', 'counter', 'default', 'f', 'increase', 'probe', 'renamed']);
  increase();
  is(counter, 1, 'live binding');
  is(typeof all.probe, 'function', 're-export');
});
