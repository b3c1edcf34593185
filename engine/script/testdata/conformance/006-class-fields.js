// feature: class fields, accessors, new.target and super
// group: language
const { probe } = require('./check.js');

class Base {
  kind = 'base';
  ['computed' + 1] = 1;
  static count = 0;
  constructor() { this.made = new.target.name; Base.count++; }
  get upper() { return this.kind.toUpperCase(); }
  hello() { return 'base'; }
}
class Derived extends Base {
  kind = 'derived';
  arrow = () => this.kind;
  hello() { return 'derived ' + super.hello(); }
}

module.exports = probe(({ is, throws }) => {
  const d = new Derived();
  is([d.kind, d.computed1, d.made, d.upper, d.hello()], ['derived', 1, 'Derived', 'DERIVED', 'derived base']);
  is((0, d.arrow)(), 'derived');
  is(Derived.count, 1);
  class MyError extends TypeError {}
  is([new MyError('x') instanceof TypeError, new MyError('x').message], [true, 'x']);
  class List extends Array { sum() { return this.reduce((a, b) => a + b, 0); } }
  is(List.from([1, 2, 3]).filter((n) => n > 1).sum(), 5);
  throws(() => Base(), 'TypeError');
});
