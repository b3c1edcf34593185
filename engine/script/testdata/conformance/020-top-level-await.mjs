// feature: top-level await
// group: language
import { probe } from './check.js';
const value = await Promise.resolve(4);
const late = await new Promise((ok) => setTimeout(() => ok(5), 1));

export default probe(({ is }) => {
  is([value, late], [4, 5]);
});
