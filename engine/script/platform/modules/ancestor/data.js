// core/interfaces/DataRepository and core/User: classes for "instanceof". Items come from dataRepo.wrap and its
// other methods, accounts from auth.
'use strict';

const has = (v, ...names) => v !== null && typeof v === 'object' && names.every((n) => typeof v[n] === 'function');

function kind(name, where, methods) {
  function Kind() {
    throw new TypeError(name + ' cannot be made by new: take it from ' + where);
  }
  Object.defineProperty(Kind, 'name', { value: name });
  Object.defineProperty(Kind, Symbol.hasInstance, { value: (v) => has(v, ...methods) });
  return Kind;
}

const DataRepository = kind('DataRepository', 'the options of the service', ['getList', 'getItem', 'wrap']);
module.exports = DataRepository;
DataRepository.DataRepository = DataRepository;
DataRepository.Item = kind('Item', 'dataRepo.wrap', ['getItemId', 'getProperties', 'getMetaClass']);
DataRepository.Property = kind('Property', 'item.property', ['getName', 'getValue', 'getDisplayValue']);
DataRepository.User = kind('User', 'auth.getUser', ['id', 'login', 'isMe']);
