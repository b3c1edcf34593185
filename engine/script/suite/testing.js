// The globals of test files. test, describe, before, after, beforeEach and afterEach register functions, which run
// later, one at a time. request sends a request through the whole server. register, send and differ are written in Go.
(function (register, send, addAccount, differ) {
  'use strict';
  const root = newGroup(null, '', '');
  let group = root;
  let ids = 0;

  function newGroup(parent, name, mode) {
    return { parent, name, mode, id: parent ? ++ids : 0, before: [], after: [], beforeEach: [], afterEach: [], begun: null };
  }

  // around returns the groups that contain a group or test, outermost first.
  function around(g) {
    return g ? [...around(g.parent), g] : [];
  }

  function callable(what, name, work) {
    if (typeof work !== 'function') {
      throw new TypeError(what + ' takes a function' + (name ? ': ' + name : ''));
    }
  }

  function entry(what, mode, name, work, options) {
    if (typeof name !== 'string' || !name) {
      throw new TypeError(what + ' takes a name and a function');
    }
    if (mode !== 'todo' && mode !== 'skip') {
      callable(what, name, work);
    }
    const inside = around(group);
    const modes = [...inside.map((g) => g.mode), mode];
    const effective = ['skip', 'todo', 'only'].find((m) => modes.includes(m)) || '';
    const timeout = options && options.timeout !== undefined ? Number(options.timeout) : 0;
    if (!(timeout >= 0 && timeout <= 600000)) {
      throw new TypeError('timeout is a number of milliseconds, at most 600000: ' + name);
    }
    const at = group;
    register([...inside.slice(1).map((g) => g.name), name], effective, timeout, inside.map((g) => g.id), () => run(at, work));
  }

  async function begin(g) {
    for (const hook of g.before) {
      await hook();
    }
  }

  async function run(at, work) {
    const inside = around(at);
    try {
      for (const g of inside) {
        g.begun = g.begun || begin(g);
        await g.begun;
      }
      try {
        for (const g of inside) {
          for (const hook of g.beforeEach) {
            await hook();
          }
        }
        await work();
      } finally {
        for (const g of inside.reverse()) {
          for (const hook of g.afterEach) {
            await hook();
          }
        }
      }
    } catch (e) {
      if (e && e.name === 'AssertionError' && 'actual' in e && 'expected' in e) {
        differ(pretty(e.actual), pretty(e.expected));
      }
      throw e;
    }
  }

  function pretty(v) {
    if (typeof v === 'string') {
      return v;
    }
    try {
      const text = JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? x + 'n' : x === undefined ? 'undefined' : x), 2);
      return text === undefined ? String(v) : text;
    } catch {
      return String(v);
    }
  }

  // finished registers the after hooks of a group, which then run after its tests.
  function finished(g) {
    if (g.after.length) {
      register([], 'after', 0, around(g).map((o) => o.id), async () => {
        for (const hook of g.after) {
          await hook();
        }
      });
    }
  }

  const test = (name, work, options) => entry('test', '', name, work, options);
  for (const mode of ['only', 'skip', 'todo']) {
    test[mode] = (name, work, options) => entry('test.' + mode, mode, name, work, options);
  }

  function inGroup(mode, name, tests) {
    if (typeof name !== 'string' || !name) {
      throw new TypeError('describe takes a name and a function');
    }
    callable('describe', name, tests);
    const outer = group;
    group = newGroup(outer, name, mode);
    try {
      const result = tests();
      if (result && typeof result.then === 'function') {
        throw new TypeError('the function of describe registers tests at once: it is not async: ' + name);
      }
      finished(group);
    } finally {
      group = outer;
    }
  }
  const describe = (name, tests) => inGroup('', name, tests);
  describe.only = (name, tests) => inGroup('only', name, tests);
  describe.skip = (name, tests) => inGroup('skip', name, tests);

  const hook = (kind) => (work) => {
    callable(kind, '', work);
    group[kind].push(work);
  };

  const known = ['body', 'json', 'form', 'headers', 'account', 'auth'];

  function request(method, path, options = {}) {
    if (typeof method !== 'string' || typeof path !== 'string' || path[0] !== '/') {
      throw new TypeError("request takes a method and a path, such as request('GET', '/rest/echo')");
    }
    for (const name of Object.keys(options)) {
      if (!known.includes(name)) {
        throw new TypeError('request has no option ' + name + ': there are ' + known.join(', '));
      }
    }
    if (['body', 'json', 'form'].filter((name) => options[name] !== undefined).length > 1) {
      throw new TypeError('request takes one of body, json and form');
    }
    const headers = {};
    let body = options.body;
    if (options.json !== undefined) {
      headers['content-type'] = 'application/json';
      body = JSON.stringify(options.json);
    }
    if (options.form !== undefined) {
      headers['content-type'] = 'application/x-www-form-urlencoded';
      body = Object.entries(options.form).map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
    }
    for (const [name, value] of Object.entries(options.headers || {})) {
      headers[name.toLowerCase()] = String(value);
    }
    return send(method.toUpperCase(), path, headers, body, options.account, options.auth);
  }

  const asAccount = (account) => (method, path, options = {}) => request(method, path, { account, ...options });

  return {
    test, it: test, describe, before: hook('before'), after: hook('after'), beforeEach: hook('beforeEach'), afterEach: hook('afterEach'),
    request, asAccount, addAccount, end: () => finished(root),
  };
})
