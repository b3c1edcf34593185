// feature: Number and Math
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is([(0.1 + 0.2).toFixed(2), (1e21).toString(), (255).toString(16), (0.000001234).toPrecision(2), (12345.678).toExponential(2)], ['0.30', '1e+21', 'ff', '0.0000012', '1.23e+4']);
  is([(1.005).toFixed(2), (25).toString(36), Number('0b11'), parseInt('12px'), parseFloat('1.5e3x')], ['1.00', 'p', 3, 12, 1500]);
  is([Math.hypot(3, 4), Math.trunc(-1.5), Math.sign(-3), Math.cbrt(27), Math.log2(8), Math.fround(5.5), Math.clz32(1), Math.imul(3, 4)], [5, -1, -1, 3, 3, 5.5, 31, 12]);
  is([Number.EPSILON > 0, Number.isInteger(5.0), Number.isSafeInteger(2 ** 53), Number.MAX_SAFE_INTEGER], [true, true, false, 9007199254740991]);
  throws(() => (1).toFixed(101), 'RangeError');
});
