// Locales, and the options that all parts of Intl share.
'use strict';

// known lists the locales that have data. A region that formats like the data keeps its name. For any other
// region, its language is used.
const known = new Set(['en', 'en-GB', 'ru', 'de', 'fr', 'es', 'it', 'pt', 'zh', 'ja']);
const regions = new Set(['en-US', 'ru-RU', 'de-DE', 'fr-FR', 'es-ES', 'it-IT', 'pt-BR', 'zh-CN', 'ja-JP']);
const fallback = 'en-US';

function canonical(tag) {
  if (typeof tag === 'object' && tag !== null) tag = tag.toString();
  if (typeof tag !== 'string') throw new TypeError('a locale must be a string, such as ru-RU');
  if (!/^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(tag)) throw new RangeError('Incorrect locale information provided: ' + tag);
  const parts = tag.split('-');
  return parts.map((p, i) => {
    if (i === 0 || parts.slice(1, i).some((x) => x.length === 1)) return p.toLowerCase();
    if (p.length === 4 && /^[a-z]/i.test(p)) return p[0].toUpperCase() + p.slice(1).toLowerCase();
    return p.length === 2 ? p.toUpperCase() : p.toLowerCase();
  }).join('-');
}

function list(locales) {
  if (locales === undefined) return [];
  if (locales === null) throw new TypeError('Incorrect locale information provided');
  const all = typeof locales === 'string' || !(Symbol.iterator in Object(locales)) ? [locales] : [...locales];
  return [...new Set(all.map(canonical))];
}

// match returns the locale for a tag, or undefined.
function match(tag) {
  const plain = tag.replace(/-[a-z0-9]-.*/, '');
  if (known.has(plain) || regions.has(plain)) return plain;
  const language = plain.split('-')[0];
  return known.has(language) ? language : undefined;
}

function resolve(locales) {
  for (const tag of list(locales)) {
    const found = match(tag);
    if (found) return found;
  }
  return fallback;
}

function data(locale) {
  return require('#intl/' + (locale === 'en-GB' ? 'en-gb' : locale.split('-')[0]));
}

// option reads one option. It must be one of the values.
function option(options, name, values, def) {
  let v = options[name];
  if (v === undefined) return def;
  v = String(v);
  if (values && !values.includes(v)) throw new RangeError('Value ' + v + ' out of range for Intl options property ' + name);
  return v;
}

function number(options, name, min, max, def) {
  const v = options[name];
  if (v === undefined) return def;
  const n = Number(v);
  if (!(n >= min && n <= max)) throw new RangeError(name + ' value is out of range.');
  return Math.floor(n);
}

// unsupported throws for a part of the language that is not implemented.
function unsupported(what) {
  return new RangeError('Intl: ' + what + ' is not supported by restsrv');
}

function only(options, name, allowed) {
  const v = options[name];
  if (v !== undefined && !allowed.includes(String(v))) throw unsupported(name + ' ' + JSON.stringify(String(v)));
}

function object(options) {
  if (options === undefined) return {};
  if (options === null) throw new TypeError('Cannot convert undefined or null to object');
  return Object(options);
}

// fill replaces {name} in a pattern by values and returns the parts.
function fill(pattern, part) {
  const parts = [];
  const literal = (value) => {
    if (value === '') return;
    const last = parts[parts.length - 1];
    if (last && last.type === 'literal') last.value += value;
    else parts.push({ type: 'literal', value });
  };
  for (const piece of pattern.split(/(\{\w+\})/)) {
    if (piece[0] === '{' && piece.length > 2) parts.push(...part(piece.slice(1, -1)));
    else literal(piece);
  }
  return parts;
}

const text = (parts) => parts.map((p) => p.value).join('');

function supportedLocalesOf(locales) {
  return list(locales).filter((tag) => match(tag) !== undefined);
}

module.exports = { resolve, data, list, option, number, unsupported, only, object, fill, text, supportedLocalesOf };
