// Intl, and the methods of the language that use it.
'use strict';

const { resolve, data, list, option, unsupported, only, object, fill, text, supportedLocalesOf } = require('#intl-locale');
const { NumberFormat, PluralRules } = require('#intl-number');
const { DateTimeFormat, Dates } = require('#intl-date');

const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];

class RelativeTimeFormat {
  #locale;
  #numeric;
  #number;
  #plural;
  constructor(locales, options) {
    const o = object(options);
    this.#locale = resolve(locales);
    this.#numeric = option(o, 'numeric', ['always', 'auto'], 'always');
    if (option(o, 'style', ['long', 'short', 'narrow'], 'long') !== 'long') throw unsupported('style ' + JSON.stringify(o.style) + ' of RelativeTimeFormat');
    this.#number = new NumberFormat(this.#locale);
    this.#plural = new PluralRules(this.#locale);
  }
  formatToParts(value, unit) {
    const n = Number(value), name = String(unit).replace(/s$/, '');
    if (!units.includes(name)) throw new RangeError('Invalid unit argument for format() ' + "'" + unit + "'");
    if (!Number.isFinite(n)) throw new RangeError('Invalid time value');
    const [past, future, words] = data(this.#locale).relative[name], whole = words[Object.is(n, -0) ? '0' : String(n)];
    if (this.#numeric === 'auto' && whole !== undefined) return [{ type: 'literal', value: whole }];
    const form = n < 0 || Object.is(n, -0) ? past : future, amount = Math.abs(n);
    return fill(typeof form === 'string' ? form : form[this.#plural.select(amount)] ?? form.other, () => this.#number.formatToParts(amount).map((p) => ({ ...p, unit: name })));
  }
  format(value, unit) { return text(this.formatToParts(value, unit)); }
  resolvedOptions() { return { locale: this.#locale, style: 'long', numeric: this.#numeric, numberingSystem: 'latn' }; }
  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
}

class ListFormat {
  #locale;
  #type;
  #style;
  constructor(locales, options) {
    const o = object(options);
    this.#locale = resolve(locales);
    this.#type = option(o, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction');
    this.#style = option(o, 'style', ['long', 'short', 'narrow'], 'long');
  }
  formatToParts(values) {
    const all = [...values];
    for (const v of all) if (typeof v !== 'string') throw new TypeError('Iterable yielded ' + String(v) + ' which is not a string');
    const [two, middle, last] = data(this.#locale).lists[this.#type + ' ' + this.#style];
    return all.flatMap((value, i) => [
      ...(i === 0 ? [] : [{ type: 'literal', value: this.#between(all, i, two, middle, last) }]),
      { type: 'element', value },
    ]);
  }
  // Spanish y and o change before words that begin with the same sound.
  #between(all, i, two, middle, last) {
    if (i < all.length - 1) return middle;
    const word = all.length === 2 ? two : last;
    if (!this.#locale.startsWith('es') || this.#type === 'unit') return word;
    if (this.#type === 'conjunction') return /^(i|hi(?![ae]))/i.test(all[i]) ? word.replace(' y ', ' e ') : word;
    return /^(o|ho|8)/i.test(all[i]) || /^11(?!\d)/.test(all[i]) ? word.replace(' o ', ' u ') : word;
  }
  format(values) { return text(this.formatToParts(values)); }
  resolvedOptions() { return { locale: this.#locale, type: this.#type, style: this.#style }; }
  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
}

// compare sorts texts in the same order for all languages: by letters, then accents, then case.
function compare(a, b, sensitivity, numeric) {
  if (sensitivity !== 'variant') [a, b] = [simplify(a, sensitivity), simplify(b, sensitivity)];
  if (!numeric) return Math.sign(native.compare(a, b));
  const x = a.split(/(\d+)/), y = b.split(/(\d+)/);
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const p = x[i] ?? '', q = y[i] ?? '';
    let order;
    if (i % 2 && p && q) {
      const m = p.replace(/^0+(?=\d)/, ''), n = q.replace(/^0+(?=\d)/, '');
      order = m.length - n.length || (m < n ? -1 : m > n ? 1 : 0);
    } else order = native.compare(p, q);
    if (order) return Math.sign(order);
  }
  return 0;
}

// simplify removes the differences in a text that do not count. й is not и plus an accent.
function simplify(s, sensitivity) {
  if (sensitivity !== 'accent') s = s.replace(/[^йЙ\x00-\x7f]/g, (c) => c.normalize('NFD').replace(/[\u0300-\u036f]/g, ''));
  return sensitivity === 'case' ? s : s.toLowerCase();
}

class CollatorOf {
  constructor(locales, options) {
    const o = object(options);
    this.locale = resolve(locales);
    this.usage = option(o, 'usage', ['sort', 'search'], 'sort');
    this.sensitivity = option(o, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant');
    this.ignorePunctuation = Boolean(o.ignorePunctuation);
    if (this.ignorePunctuation) throw unsupported('ignorePunctuation');
    this.collation = 'default';
    only(o, 'collation', ['default']);
    only(o, 'caseFirst', ['false']);
    this.numeric = Boolean(o.numeric);
    this.caseFirst = 'false';
  }
}
const collators = new WeakMap();

function Collator(locales, options) {
  if (!new.target) return new Collator(locales, options);
  const c = new CollatorOf(locales, options);
  collators.set(this, { c, compare: (a, b) => compare(String(a), String(b), c.sensitivity, c.numeric) });
}
Object.defineProperty(Collator.prototype, 'compare', { get() { return collators.get(this).compare; }, configurable: true });
native.define(Collator.prototype, { resolvedOptions() { return { ...collators.get(this).c }; } });
native.define(Collator, { supportedLocalesOf });
for (const [c, name] of [[Collator, 'Collator'], [ListFormat, 'ListFormat'], [RelativeTimeFormat, 'RelativeTimeFormat']]) {
  Object.defineProperty(c.prototype, Symbol.toStringTag, { value: 'Intl.' + name, configurable: true });
}

const missing = {};
for (const name of ['DisplayNames', 'DurationFormat', 'Locale', 'Segmenter']) {
  missing[name] = { [name]: function () { throw unsupported('Intl.' + name); } }[name];
}

const Intl = {};
native.define(Intl, {
  NumberFormat, PluralRules, DateTimeFormat, RelativeTimeFormat, ListFormat, Collator, ...missing,
  getCanonicalLocales: (locales) => list(locales),
  supportedValuesOf(key) {
    if (key === 'calendar') return ['gregory'];
    if (key === 'numberingSystem') return ['latn'];
    throw unsupported('supportedValuesOf(' + JSON.stringify(String(key)) + ')');
  },
});
Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });

// Formatters are cached if the locales and the options are plain values.
const kept = new Map(), mostKept = 100;

function cached(kind, make, locales, options) {
  const simple = (locales === undefined || typeof locales === 'string') && (options === undefined || Object.getPrototypeOf(Object(options)) === Object.prototype);
  if (!simple || options === null) return make();
  const key = kind + '\n' + locales + '\n' + (options === undefined ? '' : Object.entries(options).map(([k, v]) => k + ':' + typeof v + String(v)).join('\n'));
  let found = kept.get(key);
  if (!found) {
    if (kept.size >= mostKept) kept.clear();
    kept.set(key, found = make());
  }
  return found;
}

const numberText = (value, locales, options) => cached('number', () => new NumberFormat(locales, options), locales, options).format(value);

function dateText(date, required, defaults, locales, options) {
  if (isNaN(Date.prototype.getTime.call(date))) return 'Invalid Date';
  return text(cached(required + defaults, () => new Dates(locales, options, required, defaults), locales, options).parts(date));
}

const compareText = (a, b, locales, options) => cached('collator', () => new Collator(locales, options), locales, options).compare(a, b);

module.exports = { Intl, numberText, dateText, compareText };
