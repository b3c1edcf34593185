// A locale told by what differs from another one: members of own replace those
// of base, objects are gone through, undefined takes a member away.
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
