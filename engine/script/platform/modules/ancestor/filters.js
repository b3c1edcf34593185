// core/interfaces/DataRepository/lib/util: makes filters of data and of ids.
'use strict';

const KeyProvider = require('core/impl/meta/keyProvider');

// All attributes have these values.
exports.dataToFilter = (data) => ({ and: Object.keys(data).map((name) => ({ eq: ['$' + name, data[name]] })) });

// The id of the object is one of these.
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
