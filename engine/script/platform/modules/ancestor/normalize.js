// core/util/normalize: converts items to plain objects, including loaded references and collections. If one call
// meets an item again, the result is only {_id}; if byRef is set, it is the same object, and if greedy is set, a
// copy. References that are not loaded are skipped, unless keyProvider can derive the key attributes of their ids.
// Any value that is not an item becomes null.
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
