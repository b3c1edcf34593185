// feature: private methods and accessors of classes
// group: language
const { probe } = require('./check.js');

class A {
  #double(n) { return n * 2; }
  get #secret() { return 's'; }
  static #make() { return new A(); }
  run(n) { return this.#double(n) + this.#secret; }
  static make() { return A.#make().run(2); }
}

module.exports = probe(({ is, throws }) => {
  is(new A().run(4), '8s');
  is(A.make(), '4s');
  is(Object.getOwnPropertyNames(A.prototype), ['constructor', 'run']);
  throws(() => A.prototype.run.call({}), 'TypeError');
});
