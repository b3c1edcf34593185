// feature: BigInt
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is, throws }) => {
  is(9007199254740993n + 1n, 9007199254740994n);
  is(2n ** 64n, 18446744073709551616n);
  is([7n / 2n, -7n % 3n, 5n > 4, 2n == 2, typeof 1n], [3n, -1n, true, true, 'bigint']);
  is([BigInt('0xff'), BigInt.asUintN(8, 257n), BigInt.asIntN(8, 255n)], [255n, 1n, -1n]);
  is((123n).toString(16), '7b');
  throws(() => 1n + 1, 'TypeError');
  throws(() => BigInt(1.5), 'RangeError');
});
