// The npm package merge: copies the members of objects into the first one, or into a new object if the first
// argument is true. recursive merges members that are objects in both. Members named __proto__ are skipped.
'use strict';

const isObject = (v) => v !== null && typeof v === 'object' && Object.prototype.toString.call(v) === '[object Object]';

function copy(v) {
  if (Array.isArray(v)) {
    return v.map(copy);
  }
  return isObject(v) ? into({}, v, (name, value) => copy(value)) : v;
}

function into(target, from, value) {
  for (const name of Object.keys(from)) {
    if (name !== '__proto__') {
      target[name] = value(name, from[name]);
    }
  }
  return target;
}

function deep(target, from) {
  return isObject(target) && isObject(from) ? into(target, from, (name, value) => deep(own(target, name), value)) : from;
}

const own = (o, name) => Object.prototype.hasOwnProperty.call(o, name) ? o[name] : undefined;

function all(recursive, args) {
  const fresh = args[0] === true || args[0] === false ? args.shift() : false;
  const target = fresh || !isObject(args[0]) ? {} : args.shift();
  for (const from of args) {
    if (isObject(from)) {
      into(target, from, (name, given) => {
        const value = fresh ? copy(given) : given;
        return recursive ? deep(own(target, name), value) : value;
      });
    }
  }
  return target;
}

module.exports = (...args) => all(false, args);
module.exports.recursive = (...args) => all(true, args);
module.exports.clone = copy;
