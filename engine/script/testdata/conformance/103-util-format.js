// feature: util: format and inspect
// group: module
const { probe } = require('./check.js');

const util = require('util');

module.exports = probe(({ is }) => {
  is(util.format('%s=%d %i %f %j %o%%', 'a', 1.5, 2.9, '3.5', { x: [1] }, 1), 'a=1.5 2 3.5 {"x":[1]} 1%');
  is(util.format('a', 'b', { c: 1 }), 'a b { c: 1 }');
  is(util.inspect({ a: [1, 'x', null], b: { c: { d: { e: 1 } } } }), "{ a: [ 1, 'x', null ], b: { c: { d: [Object] } } }");
  is(util.inspect(new Map([['k', { v: 1 }]])), "Map(1) { 'k' => { v: 1 } }");
  is([util.inspect([1, , 3]), util.inspect('it\'s'), util.inspect(-0), util.inspect(Symbol('s'))], ['[ 1, <1 empty item>, 3 ]', '"it\'s"', '-0', 'Symbol(s)']);
  class P { constructor() { this.x = 1; } }
  is([util.inspect(new P()), util.inspect(() => 1), util.inspect(new Set([1]))], ['P { x: 1 }', '[Function (anonymous)]', 'Set(1) { 1 }']);
});
