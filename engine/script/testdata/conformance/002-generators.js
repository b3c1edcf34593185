// feature: generators
// group: language
const { probe } = require('./check.js');

function* count(n) {
  try {
    for (let i = 0; i < n; i++) { const got = yield i; if (got) yield got; }
  } finally { yield 'end'; }
}

module.exports = probe(({ is }) => {
  is([...count(3)], [0, 1, 2, 'end']);
  const it = count(3);
  is(it.next(), { value: 0, done: false });
  is(it.next('x'), { value: 'x', done: false });
  is(it.return(5), { value: 'end', done: false });
  is(it.next(), { value: 5, done: true });
  function* both() { yield* count(1); yield* 'ab'; return 7; }
  is([...both()], [0, 'end', 'a', 'b']);
  is({ *[Symbol.iterator]() { yield 1; } }[Symbol.iterator]().next(), { value: 1, done: false });
});
