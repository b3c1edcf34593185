// feature: Object: entries, fromEntries, hasOwn, descriptors, freeze
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([Object.fromEntries(new Map([['a', 1]])), Object.entries({ a: 1 }), Object.values('ab')], [{ a: 1 }, [['a', 1]], ['a', 'b']]);
  is([Object.hasOwn({ a: 1 }, 'a'), Object.hasOwn({}, 'toString')], [true, false]);
  is(Object.keys({ b: 1, 2: 1, a: 1, 1: 1 }), ['1', '2', 'b', 'a'], 'order of keys');
  throws(() => { 'use strict'; Object.freeze({ a: 1 }).a = 2; }, 'TypeError');
  is(Object.getOwnPropertyDescriptors({ get a() { return 1; } }).a.get.name, 'get a');
});
