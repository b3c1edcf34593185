// What every probe is made with: exports = probe(async (check, req) => { ... }).
// It answers "ok", or what differs.
'use strict';

function show(v, depth = 0) {
  if (typeof v === 'string') return JSON.stringify(v);
  if (typeof v === 'bigint') return v + 'n';
  if (Object.is(v, -0)) return '-0';
  if (typeof v === 'function') return 'function ' + v.name;
  if (v === null || typeof v !== 'object') return String(v);
  if (depth > 4) return '...';
  if (Array.isArray(v)) {
    const items = [];
    for (let i = 0; i < v.length; i++) items.push(i in v ? show(v[i], depth + 1) : '');
    return '[' + items.join(', ') + ']';
  }
  if (v instanceof Error) return v.name + ': ' + v.message;
  if (v instanceof Date) return 'Date ' + v.getTime();
  if (v instanceof RegExp) return String(v);
  if (v instanceof Map) return 'Map ' + show(Array.from(v), depth + 1);
  if (v instanceof Set) return 'Set ' + show(Array.from(v), depth + 1);
  if (ArrayBuffer.isView(v) && v.length !== undefined) return 'bytes ' + show(Array.prototype.slice.call(v), depth + 1);
  return '{' + Object.keys(v).map((k) => k + ': ' + show(v[k], depth + 1)).join(', ') + '}';
}

function probe(run) {
  return {
    'GET /': async (req) => {
      const wrong = [];
      const check = {
        count: 0,
        is(got, want, what) {
          check.count++;
          const a = show(got), b = show(want);
          if (a !== b) wrong.push((what ? what + ': ' : '') + 'got ' + a + ', want ' + b);
        },
        ok(got, what) { check.is(!!got, true, what); },
        throws(f, name, what) {
          let got = 'nothing was thrown';
          try { f(); } catch (e) { got = e && e.name; }
          check.is(got, name, what || String(f));
        },
        async rejects(promise, name, what) {
          let got = 'nothing was rejected';
          try { await promise; } catch (e) { got = e && e.name; }
          check.is(got, name, what);
        },
      };
      try {
        await run(check, req);
      } catch (e) {
        wrong.push('threw ' + (e instanceof Error ? e.name + ': ' + e.message : String(e)));
      }
      if (check.count === 0 && wrong.length === 0) wrong.push('nothing was checked');
      return wrong.length ? wrong.join('; ') : 'ok';
    },
  };
}

exports.probe = probe;
exports.show = show;
