// feature: WeakRef
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  const o = { n: 1 }, r = new WeakRef(o);
  is([r.deref() === o, r instanceof WeakRef, Object.prototype.toString.call(r)], [true, true, '[object WeakRef]']);
  throws(() => new WeakRef(1), 'TypeError');
  throws(() => WeakRef(o), 'TypeError');
});
