// Runs the uses in Node.js, one after another, and writes their results as a JSON object to the file results.json.
import { readdirSync, writeFileSync } from 'node:fs';

const show = (value) => JSON.stringify(value) ?? 'undefined';
const late = () => new Promise((_, fail) => setTimeout(() => fail(new Error('timeout')), 30000).unref());
const results = {};
for (const file of readdirSync('uses')) {
  try {
    const m = await import('./uses/' + file);
    results[file] = show(await Promise.race([m.default(), late()]));
  } catch (e) {
    results[file] = 'throws ' + (e && e.name) + ': ' + (e && e.message);
  }
}
writeFileSync('results.json', JSON.stringify(results));
process.exit(0);
