// Looks at the variables of modules between turns: what they are, and one level
// of what is in them. changed is told of those that are not as they were.
(function (changed) {
  'use strict';
  const { getOwnPropertyDescriptor, getPrototypeOf, keys, is } = Object;
  const most = 1000;
  const own = [Object, Array, Map, Set, Date].map((c) => c.prototype);
  const watched = [];
  const ours = new WeakSet(); // classes of the modules

  // inside lists what is in an object, without running anything of it.
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

  // foreign is what classes of packages make: what they keep in it is their matter.
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
    // compare tells what changed since the last time, when report says so.
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
