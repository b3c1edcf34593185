// feature: JSON.rawJSON
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is(JSON.stringify({ n: JSON.rawJSON('12345678901234567890') }), '{"n":12345678901234567890}');
  is([JSON.isRawJSON(JSON.rawJSON('1')), JSON.isRawJSON({})], [true, false]);
  throws(() => JSON.rawJSON('{}'), 'SyntaxError');
});
