// Derives a locale from another one: members of own replace those of base, objects are merged recursively,
// undefined removes a member.
'use strict';

const isTable = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);

module.exports = function derive(base, own) {
  const all = { ...base };
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) delete all[name];
    else all[name] = isTable(value) && isTable(base[name]) ? derive(base[name], value) : value;
  }
  return all;
};
