// core/util/normalize: items as plain objects, with what is loaded for their
// references and collections. An item that came before, in the whole of what
// one call normalizes, is only {_id}; the very same object with byRef, a copy
// with greedy. References that are not loaded are left out, unless keyProvider
// tells the key attributes of their ids. What is no item becomes null.
'use strict';

const { REFERENCE, COLLECTION } = require('core/PropertyTypes');
const { Item } = require('core/interfaces/DataRepository');

function again(earlier, options) {
  if (options.byRef) {
    return earlier;
  }
  if (options.greedy) {
    return require('clone')(earlier, true, Number.isFinite(Number(options.greedy)) ? Number(options.greedy) : 1);
  }
  return { _id: earlier._id };
}

function reference(item, property, normalized, keyProvider) {
  const loaded = item.getAggregate(property.getName());
  if (loaded) {
    return normalized(loaded);
  }
  const id = property.getValue();
  const target = id && keyProvider && property.meta._refClass;
  return target ? { ...keyProvider.keyToData(target, id), _id: id, _class: target.getCanonicalName() } : undefined;
}

function normalize(data, dateCallback, options, processed, keyProvider) {
  options = options || {};
  processed = processed || {};
  const normalized = (v) => normalize(v, dateCallback, options, processed, keyProvider);
  if (Array.isArray(data)) {
    return data.map(normalized);
  }
  if (!(data instanceof Item)) {
    return null;
  }
  const key = data.getClassName() + '@' + data.getItemId();
  if (Object.prototype.hasOwnProperty.call(processed, key)) {
    return again(processed[key], options);
  }
  const plain = {};
  const set = (name, value) => {
    if (value !== undefined) {
      plain[name] = value;
    }
  };
  if (!options.skipSystemAttrs) {
    set('_creator', data.getCreator() || undefined);
    set('_editor', data.getEditor() || undefined);
    set('_id', data.getItemId());
    set('__string', data.toString(null, dateCallback));
  }
  processed[key] = plain;
  const properties = data.getProperties();
  for (const name of Object.keys(properties)) {
    const property = properties[name];
    if (options.skipSystemAttrs && (name === '__class' || name === '__classTitle')) {
      continue;
    }
    switch (property.getType()) {
      case REFERENCE:
        set(name, reference(data, property, normalized, keyProvider));
        break;
      case COLLECTION:
        set(name, normalized(data.getAggregates(name)));
        break;
      default:
        set(name, property.getValue());
    }
    if (!options.skipSystemAttrs && property.meta && property.meta.selectionProvider) {
      set(name + '_str', property.getDisplayValue(dateCallback));
    }
  }
  return plain;
}

module.exports = normalize;
