// The names that IONDV uses for the functions of filters, the types of attributes, permissions and so on:
// core/FunctionCodes and the modules beside it.
'use strict';

exports.FunctionCodes = {
  EQUAL: 'eq', NOT_EQUAL: 'ne', EMPTY: 'empty', NOT_EMPTY: 'nempty', CONTAINS: 'contains', LIKE: 'like',
  LESS: 'lt', GREATER: 'gt', LESS_OR_EQUAL: 'lte', GREATER_OR_EQUAL: 'gte', IN: 'in',
  AND: 'and', OR: 'or', NOT: 'not',
  DATE: 'date', NOW: 'now', DATE_ADD: 'dateAdd', DATE_DIFF: 'dateDiff', DATE_FORMAT: 'dateFormat',
  DATE_YEAR: 'year', DATE_MONTH: 'month', DATE_DAY: 'day', DATE_HOUR: 'hour', DATE_MINUTE: 'minute', DATE_SECOND: 'second',
  ADD: 'add', SUB: 'sub', MUL: 'mul', DIV: 'div', ROUND: 'round', MOD: 'mod', ABS: 'abs',
  CONCAT: 'concat', SUBSTR: 'substr', TO_UPPER: 'upper', TO_LOWER: 'lower', NUMBER_TO_WORDS: 'number2words', FORMAT: 'format',
  MIN: 'min', MAX: 'max', AVG: 'avg', SUM: 'sum', COUNT: 'count', SIZE: 'size',
  FULL_TEXT_MATCH: 'match', GEO_WITHIN: 'geoWithin', GEO_INTERSECTS: 'geoIntersects',
  IF: 'if', CASE: 'case', IFNULL: 'ifNull', LITERAL: 'literal',
};

exports.PropertyTypes = {
  STRING: 0, TEXT: 1, HTML: 2, URL: 3, IMAGE: 4, FILE: 5, INT: 6, REAL: 7, DECIMAL: 8, DATETIME: 9, BOOLEAN: 10, PASSWORD: 11,
  GUID: 12, REFERENCE: 13, COLLECTION: 14, SET: 15, STRUCT: 16, CUSTOM: 17, USER: 18, PERIOD: 60, GEO: 100, FILE_LIST: 110,
};

const bits = { READ: 1, WRITE: 2, DELETE: 4, USE: 8, FULL: 31 };
exports.Permissions = {
  READ: 'read', WRITE: 'write', DELETE: 'delete', USE: 'use', FULL: 'full',
  ATTR_CONTENT_CREATE: 'c_create', ATTR_CONTENT_EDIT: 'c_edit', ATTR_CONTENT_VIEW: 'c_view', ATTR_CONTENT_DELETE: 'c_delete',
  // Returns the permissions of a bit mask: an array of names, or an object in which each name is true.
  fromBitMask(mask, asArray) {
    const names = Object.keys(bits).filter((n) => (mask & bits[n]) === bits[n]).map((n) => exports.Permissions[n]);
    return asArray ? names : Object.fromEntries(names.map((n) => [n, true]));
  },
};

exports.UserTypes = { LOCAL: 'local', SYSTEM: 'system' };
exports.SortingModes = { ASC: 0, DESC: 1 };
exports.DateTypes = { REAL: 0, LOCALIZED: 1, UTC: 2 };
exports.DateSizes = { MILLISECONDS: 0, SECONDS: 1, MINUTES: 2, HOURS: 3, DAY: 4 };
