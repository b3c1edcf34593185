// feature: import of files and built-in modules (ES modules)
// group: language
import { probe } from './check.js';
import { basename } from 'node:path';
import * as path from 'path';
import check from './check.js';

export default probe(({ is }) => {
  is(basename('/a/b.c'), 'b.c');
  is(path.extname('/a/b.c'), '.c');
  is(typeof check.probe, 'function');
});
