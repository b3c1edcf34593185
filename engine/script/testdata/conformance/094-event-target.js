// feature: Event and EventTarget
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const t = new EventTarget(), seen = [];
  const f = (e) => { seen.push(e.type); e.preventDefault(); };
  t.addEventListener('x', f); t.addEventListener('x', f);
  t.addEventListener('x', { handleEvent() { seen.push('object'); } }, { once: true });
  is([t.dispatchEvent(new Event('x', { cancelable: true })), seen], [false, ['x', 'object']]);
  t.removeEventListener('x', f);
  is([t.dispatchEvent(new Event('x')), seen.length], [true, 2]);
});
