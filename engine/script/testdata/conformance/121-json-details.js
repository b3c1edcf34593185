// feature: JSON.stringify: toJSON gets the key, halves of pairs are escaped
// group: wrong
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const named = { toJSON: (k) => 'key ' + k };
  is([JSON.stringify(named), JSON.stringify({ a: named, b: [named] })], ['"key "', '{"a":"key a","b":["key 0"]}']);
  is(JSON.stringify('\ud800'), '"\\ud800"');
});
