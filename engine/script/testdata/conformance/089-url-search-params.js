// feature: URLSearchParams
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const p = new URLSearchParams('?a=1&b=%D0%96+x&a=2');
  is([p.get('b'), p.getAll('a'), p.has('c'), p.get('c'), p.size], ['Ж x', ['1', '2'], false, null, 3]);
  p.append('c', '&='); p.delete('a'); p.sort();
  is([p.toString(), [...p].length, [...p.keys()]], ['b=%D0%96+x&c=%26%3D', 2, ['b', 'c']]);
  is([String(new URLSearchParams({ x: 1, y: 'z' })), String(new URLSearchParams([['k', 'v']]))], ['x=1&y=z', 'k=v']);
});
