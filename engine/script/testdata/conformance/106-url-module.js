// feature: url: legacy parse, format, resolve
// group: module
const { probe } = require('./check.js');

const url = require('url');

module.exports = probe(({ is, throws }) => {
  const u = url.parse('http://user:pass@sub.example.com:8080/p/a/t/h?query=string#hash', true);
  is([u.protocol, u.auth, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.path], ['http:', 'user:pass', 'sub.example.com:8080', 'sub.example.com', '8080', '/p/a/t/h', '?query=string', '#hash', '/p/a/t/h?query=string']);
  is(u.query.query, 'string');
  is(url.format({ protocol: 'https', hostname: 'example.com', pathname: '/some', query: { page: 1 } }), 'https://example.com/some?page=1');
  is([url.resolve('/one/two/three', 'four'), url.resolve('http://example.com/one', '/two'), url.resolve('http://a.com/b/c/d', '../g')], ['/one/two/four', 'http://example.com/two', 'http://a.com/b/g']);
  is([url.URL === URL, url.URLSearchParams === URLSearchParams], [true, true]);
  is([url.fileURLToPath('file:///a%20b'), url.pathToFileURL('/a b').href], ['/a b', 'file:///a%20b']);
});
