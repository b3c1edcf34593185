// feature: private fields of classes
// group: language
const { probe } = require('./check.js');

class Account {
  #sum = 0;
  static #made = 0;
  constructor() { Account.#made++; }
  add(n) { this.#sum += n; return this; }
  get sum() { return this.#sum; }
  static has(x) { return #sum in x; }
  static get made() { return Account.#made; }
}

module.exports = probe(({ is, throws }) => {
  is(new Account().add(2).add(3).sum, 5);
  is([Account.has(new Account()), Account.has({})], [true, false]);
  is(Account.made, 2);
  is(Object.keys(new Account()), []);
  throws(() => Account.prototype.add.call({}, 1), 'TypeError');
});
