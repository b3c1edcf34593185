// querystring as in Node.
'use strict';

const escape = (s) => encodeURIComponent(String(s).toWellFormed());

function unescape(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return Buffer.from(s.replace(/%([0-9a-f]{2})/gi, (_, h) => String.fromCharCode(parseInt(h, 16))), 'latin1').toString();
  }
}

function primitive(v) {
  switch (typeof v) {
    case 'string': return v;
    case 'number': return isFinite(v) ? String(v) : '';
    case 'bigint': case 'boolean': return String(v);
    default: return '';
  }
}

function stringify(o, sep = '&', eq = '=', options) {
  if (o === null || typeof o !== 'object') return '';
  const code = options?.encodeURIComponent ?? module.exports.escape, parts = [];
  for (const k of Object.keys(o)) {
    const head = code(primitive(k)) + (eq || '=');
    for (const v of Array.isArray(o[k]) ? o[k] : [o[k]]) parts.push(head + code(primitive(v)));
  }
  return parts.join(sep || '&');
}

const defaultKeys = 1000;

function parse(text, sep = '&', eq = '=', options) {
  const out = Object.create(null);
  if (typeof text !== 'string' || text === '') return out;
  const decode = options?.decodeURIComponent ?? module.exports.unescape, most = options?.maxKeys ?? defaultKeys;
  let parts = text.split(sep || '&');
  if (most > 0) parts = parts.slice(0, most);
  for (const part of parts) {
    if (part === '') continue;
    const at = part.indexOf(eq || '='), plain = part.replace(/\+/g, ' ');
    const [key, value] = at < 0 ? [plain, ''] : [plain.slice(0, at), plain.slice(at + (eq || '=').length)].map(String);
    const k = safe(decode, key), v = safe(decode, value);
    if (!(k in out)) out[k] = v;
    else if (Array.isArray(out[k])) out[k].push(v);
    else out[k] = [out[k], v];
  }
  return out;
}

function safe(decode, s) {
  if (!s.includes('%')) return s;
  try { return decode(s); } catch { return unescape(s); }
}

// unescapeBuffer returns the bytes of a text, without those that are no valid escapes.
function unescapeBuffer(s) {
  return Buffer.from(String(s).replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))), 'latin1');
}

module.exports = { stringify, parse, escape, unescape, unescapeBuffer, encode: stringify, decode: parse };
