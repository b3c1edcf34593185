// getOrInsert and getOrInsertComputed of Map and WeakMap.
for (const c of [Map, WeakMap]) {
  const { has, get, set } = c.prototype;
  define(c.prototype, {
    getOrInsert(key, value) {
      if (has.call(this, key)) return get.call(this, key);
      set.call(this, key, value);
      return value;
    },
    getOrInsertComputed(key, callback) {
      const there = has.call(this, key);
      if (typeof callback !== 'function') throw new TypeError('getOrInsertComputed takes a function');
      if (there) return get.call(this, key);
      if (c === WeakMap) { set.call(this, key, undefined); this.delete(key); } // throws for a key that cannot be held
      const value = callback(key === 0 ? 0 : key);
      set.call(this, key, value);
      return value;
    },
  });
}
