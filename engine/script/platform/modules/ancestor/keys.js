// core/impl/meta/keyProvider: ids and the key attributes that they are made of.
// The id of a class with several key attributes joins their values by _.
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
  // The id that an object with such data has, null when a key attribute is
  // missing.
  formKey(classMeta, data) {
    const known = this.keyData(classMeta, data);
    return known && Object.values(known).join(separator);
  }

  // The key attributes of data, null when one is missing.
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

  // The key attributes that an id tells.
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
