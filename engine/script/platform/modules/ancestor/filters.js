// core/interfaces/DataRepository/lib/util: filters made of data and of ids.
'use strict';

const KeyProvider = require('core/impl/meta/keyProvider');

// All attributes have these values.
exports.dataToFilter = (data) => ({ and: Object.keys(data).map((name) => ({ eq: ['$' + name, data[name]] })) });

// The objects of a class with one of these ids.
exports.filterByItemIds = (keyProvider, classMeta, ids) => {
  if (!Array.isArray(ids)) {
    throw new TypeError('filterByItemIds takes an array of ids, found ' + typeof ids);
  }
  const keys = keyProvider || new KeyProvider();
  const names = classMeta.getKeyProperties();
  if (names.length === 1) {
    return { in: ['$' + names[0], ids.map((id) => keys.keyToData(classMeta, id)[names[0]])] };
  }
  return { or: ids.map((id) => exports.dataToFilter(keys.keyToData(classMeta, id))) };
};
