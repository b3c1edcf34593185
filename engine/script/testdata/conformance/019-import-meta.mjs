// feature: import.meta
// group: language
import { probe } from './check.js';
export default probe(({ is, ok }) => {
  is(typeof import.meta, 'object');
  ok(/import-meta\.mjs$/.test(import.meta.filename || import.meta.url), 'it names the file: ' + JSON.stringify(import.meta));
  is(/^(file:)?\/\/\/?(tmp|home|var)/.test(String(import.meta.url)), false, 'it tells no path of the machine');
});
