// feature: core/IonError, FunctionCodes, PropertyTypes, Permissions
// group: module
const { probe } = require('./check.js');

const IonError = require('core/IonError');
const F = require('core/FunctionCodes');

module.exports = probe(({ is, ok }) => {
  const e = new IonError('some.code', { a: 1 });
  is([e instanceof Error, e.code, e.params], [true, 'some.code', { a: 1 }]);
  is([F.EQUAL, F.AND, F.NOT_EQUAL, F.LIKE], ['eq', 'and', 'ne', 'like']);
  is([require('core/PropertyTypes').STRING, require('core/PropertyTypes').DATETIME], [0, 9]);
  is(require('core/Permissions').READ, 'read');
  is(require('@iondv/core/IonError') === IonError, true);
  ok(require('core/errors/data-repo').ITEM_EXISTS, 'core/errors/data-repo');
  is(typeof require('core/util/normalize'), 'function');
});
