// url as in Node: the classes, and the old functions.
'use strict';

const querystring = require('querystring');

const slashed = new Set(['http:', 'https:', 'ftp:', 'gopher:', 'file:', 'ws:', 'wss:']);
const hostless = new Set(['javascript:']);

const parts = ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href'];

function Url() {
  for (const name of parts) this[name] = null;
}

// unwise are the characters after the host that the old parser percent-encodes.
const unwise = /[\t\n\r "'<>\\^`{|}]/g;
const escaped = (s) => s.replace(unwise, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0'));

function wrongType(name, expected, value) {
  const e = new TypeError('The "' + name + '" argument must be ' + expected + '. Received ' + (value === null ? 'null' : typeof value));
  e.code = 'ERR_INVALID_ARG_TYPE';
  return e;
}

// takeHost parses user:password@host:port. The rest begins with / ? or #.
function takeHost(u, rest) {
  const end = rest.search(/[/?#]/), authority = end < 0 ? rest : rest.slice(0, end), at = authority.lastIndexOf('@');
  let host = authority;
  if (at >= 0) {
    u.auth = decodeURIComponent(authority.slice(0, at));
    host = authority.slice(at + 1);
  }
  let tail = end < 0 ? '' : rest.slice(end);
  const stop = host.search(/[\t\n\r "%';<>\\^`{|}]/);
  if (stop >= 0) {
    tail = host.slice(stop) + tail;
    host = host.slice(0, stop);
  }
  const port = /:(\d*)$/.exec(host);
  if (port && !(host[0] === '[' && !host.includes(']:'))) {
    if (port[1]) u.port = port[1];
    host = host.slice(0, port.index);
  }
  host = host.toLowerCase();
  if (host && host[0] !== '[' && /[^\x00-\x7f]/.test(host)) host = new URL('http://' + host).hostname;
  u.hostname = host[0] === '[' ? host.slice(1, -1) : host;
  u.host = host + (u.port ? ':' + u.port : '');
  return tail;
}

function parse(text, parseQuery = false, slashesDenoteHost = false) {
  if (text instanceof Url) return text;
  if (typeof text !== 'string') {
    throw wrongType('url', 'of type string', text);
  }
  const u = new Url();
  let rest = text.trim();
  const mark = rest.search(/[?#]/), slash = rest.slice(0, mark < 0 ? undefined : mark).replace(/\\/g, '/');
  rest = slash + (mark < 0 ? '' : rest.slice(mark));
  const protocol = /^[a-z0-9.+-]+:/i.exec(rest);
  if (protocol) {
    u.protocol = protocol[0].toLowerCase();
    rest = rest.slice(protocol[0].length);
  }
  const double = rest.startsWith('//') && (protocol || slashesDenoteHost || /^\/\/[^@/]+@[^@/]+/.test(rest));
  if (double && !(u.protocol && hostless.has(u.protocol))) {
    u.slashes = true;
    rest = takeHost(u, rest.slice(2));
  } else if (protocol && !slashed.has(u.protocol) && !hostless.has(u.protocol)) rest = takeHost(u, rest);
  if (!hostless.has(u.protocol)) rest = escaped(rest);
  const hash = rest.indexOf('#');
  if (hash >= 0) {
    u.hash = rest.slice(hash);
    rest = rest.slice(0, hash);
  }
  const query = rest.indexOf('?');
  if (query >= 0) {
    u.search = rest.slice(query);
    u.query = u.search.slice(1);
    rest = rest.slice(0, query);
  } else if (parseQuery) {
    u.search = null;
    u.query = '';
  }
  if (parseQuery) u.query = querystring.parse(u.query);
  if (rest) u.pathname = rest;
  if (slashed.has(u.protocol) && u.hostname && !u.pathname) u.pathname = '/';
  if (u.pathname || u.search) u.path = (u.pathname || '') + (u.search || '');
  u.href = format(u);
  return u;
}

function formatURL(u, { auth = true, fragment = true, search = true } = {}) {
  const login = auth && (u.username || u.password) ? u.username + (u.password ? ':' + u.password : '') + '@' : '';
  return u.protocol + (u.host || u.protocol === 'file:' ? '//' : '') + login + u.host + u.pathname + (search ? u.search : '') + (fragment ? u.hash : '');
}

function format(u, options) {
  if (typeof u === 'string') u = parse(u);
  else if (u === null || typeof u !== 'object') throw wrongType('urlObject', 'one of type object or string', u);
  if (u instanceof URL) return formatURL(u, options);
  let protocol = u.protocol || '', pathname = u.pathname || '', hash = u.hash || '', host = '', search = u.search || '';
  const auth = u.auth ? encodeURIComponent(u.auth).replace(/%3A/i, ':') + '@' : '';
  if (u.host) host = auth + u.host;
  else if (u.hostname) host = auth + (u.hostname.includes(':') && u.hostname[0] !== '[' ? '[' + u.hostname + ']' : u.hostname) + (u.port ? ':' + u.port : '');
  if (!search && u.query !== null && typeof u.query === 'object') {
    const query = querystring.stringify(u.query);
    if (query) search = '?' + query;
  }
  if (protocol && !protocol.endsWith(':')) protocol += ':';
  if (u.slashes || slashed.has(protocol)) {
    if (u.slashes || host) {
      if (pathname && pathname[0] !== '/') pathname = '/' + pathname;
      host = '//' + host;
    }
  }
  if (hash && hash[0] !== '#') hash = '#' + hash;
  if (search && search[0] !== '?') search = '?' + search;
  return protocol + host + pathname.replace(/[?#]/g, encodeURIComponent) + search.replace(/#/g, '%23') + hash;
}

// resolve works on texts, like links of a page.
function resolve(from, to) {
  const base = parse(from, false, true), link = parse(to, false, true);
  if (link.protocol && (link.protocol !== base.protocol || link.slashes || !slashed.has(link.protocol))) {
    return format(link);
  }
  const out = Object.assign(new Url(), base, { hash: link.hash });
  if (link.host) {
    Object.assign(out, { host: link.host, hostname: link.hostname, port: link.port, auth: link.auth, slashes: link.slashes, search: link.search });
    out.pathname = link.pathname && dots(link.pathname, true);
  } else if (!link.pathname) {
    if (link.search !== null || to === '') out.search = link.search ?? base.search;
  } else {
    const folder = (base.pathname || '').replace(/[^/]*$/, ''), absolute = link.pathname[0] === '/';
    out.pathname = dots(absolute ? link.pathname : (base.host && !folder ? '/' : folder) + link.pathname, !!base.host || absolute || folder[0] === '/');
    out.search = link.search;
  }
  out.query = null;
  return format(out);
}

// dots resolves . and .. in a path.
function dots(path, absolute) {
  const out = [], parts = path.split('/'), last = parts[parts.length - 1];
  for (const part of parts) {
    if (part === '.') continue;
    if (part !== '..') out.push(part);
    else if (out.length > 1 || (out.length === 1 && out[0] !== '' && out[0] !== '..')) out.pop();
    else if (!absolute) out.push('..');
  }
  if (last === '.' || last === '..') out.push('');
  const text = out.join('/');
  return absolute && text[0] !== '/' ? '/' + text : text;
}

// Paths of files begin with a slash, which stands for the application directory.
function fileURLToPath(value) {
  if (typeof value === 'string') value = new URL(value);
  if (!(value instanceof URL)) throw wrongType('path', 'of type string or an instance of URL', value);
  if (value.protocol !== 'file:') throw Object.assign(new TypeError('The URL must be of scheme file'), { code: 'ERR_INVALID_URL_SCHEME' });
  if (value.hostname !== '') throw Object.assign(new TypeError('File URL host must be "localhost" or empty on ' + process.platform), { code: 'ERR_INVALID_FILE_URL_HOST' });
  if (/%2f/i.test(value.pathname)) throw Object.assign(new TypeError('File URL path must not include encoded / characters'), { code: 'ERR_INVALID_FILE_URL_PATH' });
  return decodeURIComponent(value.pathname);
}

function pathToFileURL(path) {
  const full = require('path').resolve(path) + (/[^/]\/$/.test(path) ? '/' : '');
  return new URL('file://' + full.replace(/[%\\\n\r\t?#]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')));
}

module.exports = {
  get URL() { return URL; },
  get URLSearchParams() { return URLSearchParams; },
  Url, parse, format, resolve,
  resolveObject: (from, to) => parse(resolve(from, to), false, true),
  domainToASCII: (d) => { try { return new URL('http://' + d).hostname; } catch { return ''; } },
  urlToHttpOptions: (u) => ({
    protocol: u.protocol, hostname: u.hostname, hash: u.hash, search: u.search, pathname: u.pathname,
    path: u.pathname + u.search, href: u.href, ...(u.port && { port: Number(u.port) }),
    ...((u.username || u.password) && { auth: decodeURIComponent(u.username) + ':' + decodeURIComponent(u.password) }),
  }),
  fileURLToPath,
  pathToFileURL,
  domainToUnicode: (domain) => {
    const u = URL.canParse('http://' + domain) ? new URL('http://' + domain).hostname : '';
    return require('punycode').toUnicode(u);
  },
};
