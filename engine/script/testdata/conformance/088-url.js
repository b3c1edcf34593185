// feature: URL
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const u = new URL('../b c/ü?q=1&q=2#h', 'https://me:pw@Example.COM:443/a/x/y');
  is(u.href, 'https://me:pw@example.com/a/b%20c/%C3%BC?q=1&q=2#h');
  is([u.host, u.port, u.pathname, u.search, u.hash, u.origin, u.username, u.password], ['example.com', '', '/a/b%20c/%C3%BC', '?q=1&q=2', '#h', 'https://example.com', 'me', 'pw']);
  is(u.searchParams.getAll('q'), ['1', '2']);
  u.searchParams.set('z', 'a b');
  u.port = '8080';
  is([u.search, String(u).includes(':8080/')], ['?q=1&q=2&z=a+b', true]);
  is([URL.canParse('nope'), new URL('http://пример.рф/').hostname, JSON.stringify(new URL('http://a/'))], [false, 'xn--e1afmkfd.xn--p1ai', '"http://a/"']);
  throws(() => new URL('nope'), 'TypeError');
});
