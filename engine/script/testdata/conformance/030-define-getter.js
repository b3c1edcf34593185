// feature: __proto__, __defineGetter__ and their like
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const o = { n: 2 };
  o.__defineGetter__('double', function () { return this.n * 2; });
  o.__defineSetter__('half', function (v) { this.n = v / 2; });
  o.half = 10;
  is([o.double, o.n, typeof o.__lookupGetter__('double'), typeof o.__lookupSetter__('half'), o.__lookupGetter__('n')],
    [10, 5, 'function', 'function', undefined]);
  is(Object.keys(o), ['n', 'double', 'half']);
  const parent = { p: 1 }, child = { __proto__: parent };
  is([child.p, child.__proto__ === parent], [1, true]);
});
