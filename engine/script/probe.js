// Compares the variables of modules after each turn with their values before it, and one level of the members of
// these values. Calls changed(module, variable) with the indexes of each variable that is different.
(function (changed) {
  'use strict';
  const { getOwnPropertyDescriptor, getPrototypeOf, keys, is } = Object;
  const most = 1000;
  const own = [Object, Array, Map, Set, Date].map((c) => c.prototype);
  const watched = [];
  const ours = new WeakSet(); // classes that the modules declare

  // inside returns the names and values in an object. It calls no getters and no other code of the script.
  function inside(v) {
    const found = [];
    const add = (x) => found.length < most && found.push(x);
    if (Array.isArray(v)) {
      found.push(v.length);
      for (let i = 0; i < v.length && i < most; i++) add(v[i]);
    } else if (v instanceof Map) {
      found.push(v.size);
      v.forEach((x, key) => { add(key); add(x); });
    } else if (v instanceof Set) {
      found.push(v.size);
      v.forEach(add);
    } else if (v instanceof Date) {
      found.push(v.getTime());
    } else {
      const names = keys(v);
      found.push(names.length);
      for (let i = 0; i < names.length && i < most; i++) {
        const d = getOwnPropertyDescriptor(v, names[i]);
        add(names[i]);
        add(d && d.value);
      }
    }
    return found;
  }

  // foreign reports whether a value was created by a class of a package. Such objects may change their own state.
  function foreign(v) {
    const proto = getPrototypeOf(v);
    if (typeof v === 'function' || proto === null || own.includes(proto)) return false;
    const made = getOwnPropertyDescriptor(proto, 'constructor');
    return !(made && typeof made.value === 'function' && ours.has(made.value));
  }

  function look(v) {
    if (typeof v !== 'object' && typeof v !== 'function' || v === null || foreign(v)) return { v };
    return { v, inside: inside(v) };
  }

  function same(a, b) {
    if (!is(a.v, b.v)) return false;
    if (!a.inside || !b.inside) return true;
    return a.inside.length === b.inside.length && a.inside.every((x, i) => is(x, b.inside[i]));
  }

  return {
    add(index, read) { watched.push({ index, read, was: null }); },
    // compare reports the variables that have changed since its last call, if report is true.
    compare(report) {
      for (const module of watched) {
        let now;
        try {
          now = module.read();
          for (const v of now) if (typeof v === 'function') ours.add(v);
          now = now.map(look);
        } catch { continue; }
        const { was } = module;
        module.was = now;
        if (!was || !report) continue;
        now.forEach((n, i) => { if (!same(was[i], n)) changed(module.index, i); });
      }
    },
  };
})
