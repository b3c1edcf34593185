// core/impl/meta/keyProvider: ids and their key attributes. If a class has several key attributes, its ids join
// their values by _.
'use strict';

const separator = '_';

const keysOf = (classMeta) => {
  if (classMeta === null || typeof classMeta !== 'object' || typeof classMeta.getKeyProperties !== 'function') {
    throw new TypeError('keyProvider takes a class such as metaRepo.getMeta gives, found ' + typeof classMeta);
  }
  return classMeta.getKeyProperties();
};

const INT = 6, REAL = 7;

function keyValue(classMeta, name, text) {
  const meta = classMeta.getPropertyMeta(name);
  if (meta && (meta.type === INT || meta.type === REAL)) {
    const n = Number(text);
    return Number.isSafeInteger(n) || meta.type === REAL ? n : text;
  }
  return text;
}

class KeyProvider {
  // Returns the id of an object that has this data, or null if a key attribute is missing.
  formKey(classMeta, data) {
    const known = this.keyData(classMeta, data);
    return known && Object.values(known).join(separator);
  }

  // Returns the key attributes of data, or null if one is missing.
  keyData(classMeta, data) {
    if (data === null || typeof data !== 'object') {
      return null;
    }
    const known = {};
    for (const name of keysOf(classMeta)) {
      if (data[name] === undefined || data[name] === null || data[name] === '') {
        return null;
      }
      known[name] = data[name];
    }
    return known;
  }

  // Returns the key attributes of an id.
  keyToData(classMeta, id) {
    const names = keysOf(classMeta);
    if (names.length === 1) {
      return { [names[0]]: keyValue(classMeta, names[0], String(id)) };
    }
    const values = String(id).split(separator);
    if (values.length !== names.length) {
      throw new Error('id "' + id + '" does not tell the ' + names.length + ' key attributes of class ' + classMeta.getCanonicalName());
    }
    return Object.fromEntries(names.map((name, i) => [name, keyValue(classMeta, name, values[i])]));
  }
}

module.exports = KeyProvider;
