// feature: using (explicit resource management)
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const log = [];
  const open = (name) => ({ name, [Symbol.dispose]() { log.push('close ' + name); } });
  {
    using a = open('a'), b = open('b');
    using none = null;
    log.push(a.name + b.name + none);
  }
  is(log, ['abnull', 'close b', 'close a']);
  const f = () => { using c = open('c'); throw new Error('in ' + c.name); };
  let message = '';
  try { f(); } catch (e) { message = e.message; }
  is([message, log[3]], ['in c', 'close c']);
  is(typeof Symbol.dispose, 'symbol');
});
