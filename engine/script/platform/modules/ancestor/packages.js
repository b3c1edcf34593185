// The exports of the packages of framework 5 that services use. Each is made when it is first read.
'use strict';

function parts(names) {
  const all = {};
  for (const name of Object.keys(names)) {
    const from = names[name];
    Object.defineProperty(all, name, {
      enumerable: true,
      get: () => typeof from === 'string' ? require(from) : parts(from),
    });
  }
  return all;
}

const packages = {
  'core': { IonError: 'core/IonError', utils: { strings: 'core/strings' } },
  'i18n': 'core/i18n',
  'acl-contracts': { Permissions: 'core/Permissions' },
  'auth-contracts': { User: 'core/User', UserTypes: 'core/UserTypes' },
  'meta-model': {
    data: { Item: 'core/interfaces/DataRepository/lib/Item', utils: 'core/interfaces/DataRepository/lib/util' },
    meta: { KeyProvider: 'core/impl/meta/keyProvider' },
  },
  'meta-model-contracts': {
    DateSizes: 'core/DateSizes', DateTypes: 'core/DateTypes', FunctionCodes: 'core/FunctionCodes',
    PropertyTypes: 'core/PropertyTypes', SortingModes: 'core/SortingModes', DataRepository: 'core/interfaces/DataRepository',
    data: { Item: 'core/interfaces/DataRepository/lib/Item' },
    util: { normalize: 'core/util/normalize' },
  },
};
module.exports = parts(packages);
