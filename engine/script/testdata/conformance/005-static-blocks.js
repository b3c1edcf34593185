// feature: static blocks of classes
// group: language
const { probe } = require('./check.js');

class Config {
  static values = [];
  static { for (const v of ['a', 'b']) this.values.push(v); }
  static #hidden = 3;
  static read;
  static { Config.read = (c) => c.#hidden; }
}

module.exports = probe(({ is }) => {
  is(Config.values, ['a', 'b']);
  is(Config.read(Config), 3);
});
