// feature: path
// group: module
const { probe } = require('./check.js');

const path = require('path');

module.exports = probe(({ is, throws }) => {
  is(path.join('/foo', 'bar', 'baz/asdf', 'quux', '..'), '/foo/bar/baz/asdf');
  is(path.resolve('/foo/bar', './baz'), '/foo/bar/baz');
  is(path.relative('/data/orandea/test/aaa', '/data/orandea/impl/bbb'), '../../impl/bbb');
  is(path.parse('/home/user/dir/file.txt'), { root: '/', dir: '/home/user/dir', base: 'file.txt', ext: '.txt', name: 'file' });
  is([path.basename('/foo/bar/quux.html', '.html'), path.extname('.index.md'), path.normalize('/foo/bar//baz/asdf/quux/..')], ['quux', '.md', '/foo/bar/baz/asdf']);
  is(path.format({ root: '/ignored', dir: '/home/user/dir', base: 'file.txt' }), '/home/user/dir/file.txt');
  is([require('node:path') === path, path.posix === path], [true, true]);
  throws(() => path.join(1), 'TypeError');
});
