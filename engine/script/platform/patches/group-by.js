// Object.groupBy and Map.groupBy.
function groups(items, callback) {
  if (typeof callback !== 'function') throw new TypeError('groupBy takes a function');
  const found = new Map();
  let i = 0;
  for (const item of items) {
    const key = callback(item, i++), list = found.get(key);
    if (list) list.push(item);
    else found.set(key, [item]);
  }
  return found;
}

define(Map, { groupBy(items, callback) { return groups(items, callback); } });
define(Object, {
  groupBy(items, callback) {
    const out = Object.create(null);
    const name = typeof callback === 'function' ? (item, i) => {
      const key = callback(item, i);
      return typeof key === 'symbol' ? key : String(key);
    } : callback;
    for (const [key, list] of groups(items, name)) out[key] = list;
    return out;
  },
});
