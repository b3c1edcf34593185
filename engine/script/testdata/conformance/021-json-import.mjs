// feature: import of JSON files
// group: language
import { probe } from './check.js';
import data from './data.json' with { type: 'json' };
import plain from './data.json';

export default probe(({ is }) => {
  is(data.list, [1, 2, 3]);
  is(plain.name, 'Имя');
});
