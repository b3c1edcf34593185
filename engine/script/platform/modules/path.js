// path as in Node on POSIX. It computes names and does not access files.
'use strict';

function normalizeParts(path, absolute) {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length && parts[parts.length - 1] !== '..') parts.pop();
    else if (part !== '..' || !absolute) parts.push(part);
  }
  return parts.join('/');
}

function text(value, name) {
  if (typeof value !== 'string') {
    const e = new TypeError('The "' + name + '" argument must be of type string. Received ' + (value === null ? 'null' : typeof value));
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
  return value;
}

const path = {
  sep: '/',
  delimiter: ':',
  normalize(p) {
    if (text(p, 'path') === '') return '.';
    const absolute = p[0] === '/';
    let out = normalizeParts(p, absolute);
    if (out === '' && !absolute) out = '.';
    if (out !== '' && p.endsWith('/')) out += '/';
    return absolute ? '/' + out : out;
  },
  isAbsolute(p) { return text(p, 'path')[0] === '/'; },
  join(...all) {
    const joined = all.filter((p) => text(p, 'path') !== '').join('/');
    return joined === '' ? '.' : path.normalize(joined);
  },
  // The current folder of a script is the application directory, named '/'.
  resolve(...all) {
    let out = '';
    for (let i = all.length - 1; i >= 0 && out[0] !== '/'; i--) {
      if (text(all[i], 'path') !== '') out = all[i] + (out ? '/' + out : '');
    }
    return '/' + normalizeParts(out, true);
  },
  relative(from, to) {
    const a = path.resolve(from).split('/').filter(Boolean), b = path.resolve(to).split('/').filter(Boolean);
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) same++;
    return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
  },
  dirname(p) {
    const trimmed = text(p, 'path').replace(/\/+$/, ''), at = trimmed.lastIndexOf('/');
    if (at < 0) return p[0] === '/' ? '/' : '.';
    if (at === 1 && trimmed[0] === '/') return '//';
    return trimmed.slice(0, at).replace(/\/+$/, '') || '/';
  },
  basename(p, suffix) {
    const trimmed = text(p, 'path').replace(/\/+$/, ''), base = trimmed.slice(trimmed.lastIndexOf('/') + 1);
    return suffix !== undefined && (base !== suffix || p === suffix) && base.endsWith(text(suffix, 'suffix')) && suffix !== '' ? base.slice(0, -suffix.length) : base;
  },
  extname(p) {
    const base = path.basename(p), at = base.lastIndexOf('.');
    return at > 0 && base !== '..' ? base.slice(at) : '';
  },
  parse(p) {
    const root = text(p, 'path')[0] === '/' ? '/' : '', base = path.basename(p), ext = path.extname(base);
    const at = p.replace(/\/+$/, '').lastIndexOf('/'), dir = at < 0 ? root : at === 0 ? '/' : p.slice(0, at);
    return { root, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  },
  format(parts) {
    if (parts === null || typeof parts !== 'object') {
      const e = new TypeError('The "pathObject" argument must be of type object. Received ' + (parts === null ? 'null' : typeof parts));
      e.code = 'ERR_INVALID_ARG_TYPE';
      throw e;
    }
    const { dir, root, base, name = '', ext = '' } = parts;
    const file = base || name + (ext && ext[0] !== '.' ? '.' + ext : ext);
    const folder = dir || root;
    return !folder ? file : folder === root ? folder + file : folder + '/' + file;
  },
};
path.toNamespacedPath = (p) => p;
path.posix = path;
Object.defineProperty(path, 'win32', { get: () => require('path/win32'), enumerable: true, configurable: true });
module.exports = path;
