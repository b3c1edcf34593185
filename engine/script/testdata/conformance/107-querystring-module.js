// feature: querystring
// group: module
const { probe } = require('./check.js');

const querystring = require('querystring');

module.exports = probe(({ is }) => {
  is({ ...querystring.parse('foo=bar&abc=xyz&abc=123&x=%D0%96+1&flag') }, { foo: 'bar', abc: ['xyz', '123'], x: 'Ж 1', flag: '' });
  is(querystring.stringify({ foo: 'bar', baz: ['qux', 'quux'], corge: '', n: 1, o: {} }), 'foo=bar&baz=qux&baz=quux&corge=&n=1&o=');
  is([querystring.stringify({ a: 'x y' }, ';', ':'), { ...querystring.parse('a:b;c:d', ';', ':') }], ['a:x%20y', { a: 'b', c: 'd' }]);
  is([querystring.escape('a&б'), querystring.unescape('%D0%B1')], ['a%26%D0%B1', 'б']);
});
