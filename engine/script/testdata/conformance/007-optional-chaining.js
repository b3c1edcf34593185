// feature: ?. (optional chaining)
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const o = { a: { f() { return this.n; }, n: 5, l: [1] }, nothing: null };
  is([o?.a?.n, o.b?.n, o.nothing?.x.y.z], [5, undefined, undefined]);
  is([o.a.f?.(), o.a.g?.(), o.b?.f()], [5, undefined, undefined]);
  is([o.a.l?.[0], o.q?.[0]], [1, undefined]);
  let touched = 0;
  o.q?.[touched++];
  is([touched, delete o?.a?.n, o.a.n], [0, true, undefined]);
  throws(() => (o.b?.c).d, 'TypeError');
});
