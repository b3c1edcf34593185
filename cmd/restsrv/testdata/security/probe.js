// One call of the repository, {"call": ["getList", "person@m", {..}]}, and all
// that its result tells. {"item": [class, id]} as an argument is that item.
const repo = options.repo;

const argument = (a) => (a && a.item ? repo.getItem(...a.item) : a);

function told(v) {
  if (Array.isArray(v)) return v.map(told);
  if (!v || typeof v.getItemId !== 'function') return v;
  const properties = Object.values(v.getProperties()).map((p) => [p.getName(), p.getCaption(), p.getType(), String(p.getValue()), p.getDisplayValue()]);
  return [v.getItemId(), v.getClassName(), String(v), v, properties, Object.keys(v.base), Object.keys(v.references || {}), Object.keys(v.collections || {}),
    v.getMetaClass().getPropertyMetas().map((p) => p.name)];
}

module.exports = {
  'POST /': async (req) => {
    const [method, ...given] = req.body.call;
    try {
      const args = [];
      for (const a of given) args.push(await argument(a));
      if (method === 'read') { // [class, id], then paths
        return given.slice(1).map((path) => { const i = args[0]; const p = i.property(path); return [i.get(path) === undefined, String(i.get(path)), p && String(p.getValue()), p && p.getDisplayValue()]; });
      }
      if (method === 'meta') {
        const m = metaRepo.getMeta(args[0]), p = m.getPropertyMeta(args[1]);
        return [p && p.name, m.getPropertyMetas().map((x) => x.name), m.getSemantics && String(m.getSemantics({})), JSON.stringify(m)];
      }
      if (method === 'iterate') {
        const it = await repo.getIterator(...args), seen = [await it.count()];
        for (let i = await it.next(); i; i = await it.next()) seen.push(told(i));
        return seen;
      }
      const result = await repo[method](...args);
      return [told(result), result && result.total];
    } catch (e) {
      return [e.code, e.message, e.attribute, e.class];
    }
  },
};
