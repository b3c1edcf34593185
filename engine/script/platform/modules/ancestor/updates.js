// modules/rest/backend/util: saves files and nested objects first, so that the data can then be written unchanged.
'use strict';

const IMAGE = 4, FILE = 5, REFERENCE = 13, COLLECTION = 14, FILE_LIST = 110;

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const isItem = (v) => isObject(v) && typeof v.getItemId === 'function';
const isContent = (v) => isObject(v) ? v.buffer !== undefined || typeof v.body === 'string'
  : typeof v === 'string' && v !== '' && v.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(v);

function formId(meta, data) {
  const parts = meta.getKeyProperties().map((name) => data[name]);
  return parts.every((v) => v !== undefined && v !== null && v !== '') ? parts.join('_') : null;
}

async function accept(storage, value) {
  return storage && isContent(value) ? (await storage.accept(value)).id : value;
}

async function save(options, meta, value, id) {
  if (!isObject(value) || isItem(value)) {
    return value;
  }
  const data = { ...value };
  if (meta.backRef && id) {
    data[meta.backRef] = id;
  }
  return options.dataRepo.saveItem(meta.refClass || meta.itemsClass, null, data);
}

async function prepareUpdates(options, data, classMeta, knownId) {
  if (!options || !options.dataRepo || !options.metaRepo) {
    throw new Error('No proper options for "prepareUpdates" provided');
  }
  const id = knownId || formId(classMeta, data);
  const result = { id, data: {}, collections: {} };
  for (const name of Object.keys(data)) {
    const meta = classMeta.getPropertyMeta(name), value = data[name];
    const type = meta ? meta.type : undefined;
    if (type === REFERENCE && isObject(value)) {
      result.data[name] = (await save(options, meta, value, id)).getItemId();
    } else if (type === COLLECTION && Array.isArray(value)) {
      result.collections[name] = [];
      for (const element of value) {
        result.collections[name].push(await save(options, meta, element, id));
      }
    } else if (type === FILE || type === IMAGE) {
      result.data[name] = await accept(options.fileStorage, value);
    } else if (type === FILE_LIST && Array.isArray(value)) {
      result.data[name] = [];
      for (const element of value) {
        result.data[name].push(await accept(options.fileStorage, element));
      }
    } else {
      result.data[name] = value;
    }
  }
  return result;
}

async function applyCollections(options, item, collections) {
  for (const name of Object.keys(collections || {})) {
    if (collections[name].length) {
      item = await options.dataRepo.put(item, name, collections[name]);
    }
  }
  return item;
}

module.exports = { prepareUpdates, applyCollections };
