// feature: Symbol.asyncIterator
// group: built-in
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is([typeof Symbol.asyncIterator, Symbol.asyncIterator.description, Symbol.asyncIterator === Symbol.asyncIterator], ['symbol', 'Symbol.asyncIterator', true]);
  is(Object.keys(Object.getOwnPropertyDescriptor(Symbol, 'asyncIterator')).length, 4);
  is(Object.getOwnPropertyDescriptor(Symbol, 'asyncIterator').writable, false);
});
