// feature: export default of a class with a prototype and fields
// group: language
import { probe } from './check.js';
import { Service } from 'restsrv';

class Base extends Service { kind = 'x'; }

export default probe(({ is }) => {
  is([typeof Service, new Base({}).kind], ['function', 'x']);
});
