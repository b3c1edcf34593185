// Intl.NumberFormat and Intl.PluralRules.
'use strict';

const { resolve, data, option, number, unsupported, only, object, fill, text, supportedLocalesOf } = require('#intl-locale');

const fractions = {};
for (const c of ['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF']) fractions[c] = 0;
for (const c of ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']) fractions[c] = 3;
const narrow = {
  AMD: '֏', ARS: '$', AUD: '$', AZN: '₼', BRL: 'R$', CAD: '$', CNY: '¥', CZK: 'Kč', DKK: 'kr', EUR: '€', GBP: '£', GEL: '₾', HKD: '$', HUF: 'Ft',
  ILS: '₪', INR: '₹', JPY: '¥', KRW: '₩', KZT: '₸', MXN: '$', NOK: 'kr', NZD: '$', PLN: 'zł', RUB: '₽', SEK: 'kr', SGD: '$', TRY: '₺', TWD: '$', UAH: '₴', USD: '$', VND: '₫', ZAR: 'R',
};

// decimal returns the digits of a number before and after the point. They are the digits of its usual text.
function decimal(value) {
  let s;
  if (typeof value === 'bigint') s = String(value);
  else if (typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?\s*$/i.test(value)) s = value.trim().replace(/^\+/, '').toLowerCase();
  else {
    const n = Number(value);
    if (Number.isNaN(n)) return { special: 'nan', negative: false };
    if (n === Infinity || n === -Infinity) return { special: 'infinity', negative: n < 0 };
    s = Object.is(n, -0) ? '-0' : String(n);
  }
  const negative = s[0] === '-';
  if (negative) s = s.slice(1);
  const [mantissa, exponent = '0'] = s.split('e');
  let [whole, rest = ''] = mantissa.split('.');
  const shift = Number(exponent);
  if (shift > 0) {
    rest = rest.padEnd(shift, '0');
    whole += rest.slice(0, shift);
    rest = rest.slice(shift);
  } else if (shift < 0) {
    whole = whole.padStart(1 - shift, '0');
    rest = whole.slice(whole.length + shift) + rest;
    whole = whole.slice(0, whole.length + shift);
  }
  return { negative, whole: whole.replace(/^0+(?=\d)/, '') || '0', rest };
}

// up adds one to the last of some digits.
function up(digits) {
  let i = digits.length - 1;
  while (i >= 0 && digits[i] === '9') i--;
  const tail = '0'.repeat(digits.length - 1 - i);
  return i < 0 ? '1' + tail : digits.slice(0, i) + (Number(digits[i]) + 1) + tail;
}

// round keeps n digits after the point. Halves are rounded away from zero.
function round(d, n) {
  if (d.rest.length <= n) return d;
  const all = d.whole + d.rest.slice(0, Math.max(n, 0));
  if (n >= 0) {
    const kept = d.rest[n] >= '5' ? up(all) : all;
    return { ...d, whole: kept.slice(0, kept.length - n), rest: kept.slice(kept.length - n) };
  }
  return d;
}

// significant keeps n digits from the first that is not zero.
function significant(d, min, max) {
  const all = d.whole + d.rest, first = all.search(/[1-9]/);
  if (first < 0) return { ...d, rest: '0'.repeat(Math.max(0, min - 1)) };
  const last = first + max; // the first dropped digit
  let whole = d.whole, rest = d.rest;
  if (all.length > last) {
    let kept = all[last] >= '5' ? up(all.slice(0, last)) : all.slice(0, last);
    const grown = kept.length - last;
    kept = kept.padEnd(d.whole.length + grown, '0');
    whole = kept.slice(0, d.whole.length + grown);
    rest = kept.slice(d.whole.length + grown);
  }
  rest = rest.replace(/0+$/, '');
  whole = whole.replace(/^0+(?=\d)/, '');
  const used = whole === '0' ? rest.replace(/^0+/, '').length : whole.length + rest.length;
  return { ...d, whole, rest: rest + '0'.repeat(Math.max(0, min - used)) };
}

const isZero = (d) => !d.special && /^0*$/.test(d.whole + d.rest);

class Numbers {
  constructor(locales, options) {
    const o = object(options);
    this.locale = resolve(locales);
    this.data = data(this.locale).number;
    this.symbols = data(this.locale).symbols;
    this.style = option(o, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
    if (this.style === 'unit') throw unsupported('style "unit"');
    this.readCurrency(o);
    only(o, 'notation', ['standard']);
    only(o, 'numberingSystem', ['latn']);
    only(o, 'roundingMode', ['halfExpand']);
    only(o, 'roundingIncrement', ['1']);
    only(o, 'roundingPriority', ['auto']);
    only(o, 'trailingZeroDisplay', ['auto']);
    this.readDigits(o);
    this.grouping = o.useGrouping === undefined ? 'auto' : o.useGrouping === true || o.useGrouping === 'true' ? 'always' :
      o.useGrouping === false || o.useGrouping === null || o.useGrouping === 'false' ? false : option(o, 'useGrouping', ['auto', 'always', 'min2'], 'auto');
    this.sign = option(o, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto');
  }

  readCurrency(o) {
    let code = o.currency;
    if (code !== undefined) {
      code = String(code).toUpperCase();
      if (!/^[A-Z]{3}$/.test(code)) throw new RangeError('Invalid currency code : ' + o.currency);
    }
    this.display = option(o, 'currencyDisplay', ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol');
    this.currencySign = option(o, 'currencySign', ['standard', 'accounting'], 'standard');
    if (this.style !== 'currency') return;
    if (code === undefined) throw new TypeError('Currency code is required with currency style.');
    if (this.display === 'name') throw unsupported('currencyDisplay "name"');
    this.currency = code;
  }

  readDigits(o) {
    const usual = this.style === 'currency' ? fractions[this.currency] ?? 2 : 0;
    this.minInteger = number(o, 'minimumIntegerDigits', 1, 21, 1);
    if (o.minimumSignificantDigits !== undefined || o.maximumSignificantDigits !== undefined) {
      this.minSignificant = number(o, 'minimumSignificantDigits', 1, 21, 1);
      this.maxSignificant = number(o, 'maximumSignificantDigits', this.minSignificant, 21, 21);
      return;
    }
    const min = number(o, 'minimumFractionDigits', 0, 100), max = number(o, 'maximumFractionDigits', 0, 100);
    const most = this.style === 'currency' ? usual : this.style === 'percent' ? 0 : 3;
    this.minFraction = min ?? Math.min(usual, max ?? usual);
    this.maxFraction = max ?? Math.max(most, this.minFraction);
    if (this.minFraction > this.maxFraction) throw new RangeError('maximumFractionDigits value is out of range.');
  }

  // digits returns the digits of the rounded number.
  digits(d) {
    if (d.special) return d;
    if (this.style === 'percent') {
      const rest = d.rest.padEnd(2, '0');
      d = { ...d, whole: (d.whole + rest.slice(0, 2)).replace(/^0+(?=\d)/, ''), rest: rest.slice(2) };
    }
    if (this.minSignificant) return significant(d, this.minSignificant, this.maxSignificant);
    d = round(d, this.maxFraction);
    return { ...d, rest: d.rest.replace(/0+$/, '').padEnd(this.minFraction, '0') };
  }

  body(d) {
    if (d.special === 'nan') return [{ type: 'nan', value: this.data.nan }];
    if (d.special) return [{ type: 'infinity', value: '∞' }];
    const whole = d.whole.padStart(this.minInteger, '0'), parts = [];
    const least = this.grouping === 'always' ? 1 : this.grouping === 'min2' ? 2 : this.data.minGroup;
    if (this.grouping && whole.length >= 3 + least) {
      const head = whole.length % 3 || 3;
      parts.push({ type: 'integer', value: whole.slice(0, head) });
      for (let i = head; i < whole.length; i += 3) {
        parts.push({ type: 'group', value: this.data.group }, { type: 'integer', value: whole.slice(i, i + 3) });
      }
    } else parts.push({ type: 'integer', value: whole });
    if (d.rest) parts.push({ type: 'decimal', value: this.data.decimal }, { type: 'fraction', value: d.rest });
    return parts;
  }

  signOf(d) {
    const negative = d.negative && d.special !== 'nan';
    switch (this.sign) {
      case 'never': return '';
      case 'always': return negative ? '-' : '+';
      case 'exceptZero': return isZero(d) || d.special === 'nan' ? '' : negative ? '-' : '+';
      case 'negative': return negative && !isZero(d) ? '-' : '';
      default: return negative ? '-' : '';
    }
  }

  symbol() {
    if (this.display === 'code') return this.currency;
    if (this.display === 'narrowSymbol') return narrow[this.currency] ?? this.symbols[this.currency] ?? this.currency;
    return this.symbols[this.currency] ?? this.currency;
  }

  parts(value) {
    const d = this.digits(decimal(value)), sign = this.signOf(d), body = this.body(d);
    let pattern = this.style === 'percent' ? this.data.percent : '{0}', symbol;
    if (this.style === 'currency') {
      symbol = this.symbol();
      // A sign that consists of letters has a space before the digits.
      pattern = /[A-Za-z\u00c0-\u04ff]$/.test(symbol) ? this.data.letters : this.data.currency;
    }
    if (this.style === 'currency' && this.currencySign === 'accounting' && sign === '-' && this.data.accounting[0] === '(') pattern = '(' + pattern + ')';
    else if (sign) pattern = '{s}' + pattern;
    const out = fill(pattern, (name) => name === '0' ? body : name === 'c' ? [{ type: 'currency', value: symbol }] :
      [sign === '-' ? { type: 'minusSign', value: this.data.minus } : { type: 'plusSign', value: '+' }]);
    return this.style === 'percent' ? out.flatMap(percentSign) : out;
  }

  resolved() {
    return {
      locale: this.locale, numberingSystem: 'latn', style: this.style,
      ...(this.style === 'currency' && { currency: this.currency, currencyDisplay: this.display, currencySign: this.currencySign }),
      minimumIntegerDigits: this.minInteger,
      ...(this.minSignificant ? { minimumSignificantDigits: this.minSignificant, maximumSignificantDigits: this.maxSignificant } :
        { minimumFractionDigits: this.minFraction, maximumFractionDigits: this.maxFraction }),
      useGrouping: this.grouping, notation: 'standard', signDisplay: this.sign, roundingIncrement: 1, roundingMode: 'halfExpand',
      roundingPriority: 'auto', trailingZeroDisplay: 'auto',
    };
  }
}

// percentSign splits the sign from the space before it.
function percentSign(part) {
  if (part.type !== 'literal') return [part];
  const space = part.value.slice(0, -1);
  return [...(space ? [{ type: 'literal', value: space }] : []), { type: 'percentSign', value: '%' }];
}

const inner = new WeakMap();

function NumberFormat(locales, options) {
  if (!new.target) return new NumberFormat(locales, options);
  const n = new Numbers(locales, options);
  inner.set(this, { n, format: (value) => text(n.parts(value)) });
}

function the(format, what) {
  const found = inner.get(format);
  if (!found) throw new TypeError(what + ' is called on something else');
  return found;
}

Object.defineProperty(NumberFormat.prototype, 'format', { get() { return the(this, 'format').format; }, configurable: true });
Object.defineProperty(NumberFormat.prototype, Symbol.toStringTag, { value: 'Intl.NumberFormat', configurable: true });
native.define(NumberFormat.prototype, {
  formatToParts(value) { return the(this, 'formatToParts').n.parts(value); },
  resolvedOptions() { return the(this, 'resolvedOptions').n.resolved(); },
  formatRange() { throw unsupported('formatRange'); },
  formatRangeToParts() { throw unsupported('formatRangeToParts'); },
});
native.define(NumberFormat, { supportedLocalesOf });

const tens = (n, least, most) => n % 10 >= least && n % 10 <= most;

// rules select the form of a word for a number: i is the part before the point, v the number of digits after it.
const one = (n, i, v) => (i === 1 && v === 0 ? 'one' : 'other');
const millions = (n, i, v) => i !== 0 && i % 1000000 === 0 && v === 0;
const rules = {
  en: one,
  de: one,
  it: (n, i, v) => (i === 1 && v === 0 ? 'one' : millions(n, i, v) ? 'many' : 'other'),
  es: (n, i, v) => (n === 1 ? 'one' : millions(n, i, v) ? 'many' : 'other'),
  pt: (n, i, v) => (i === 0 || i === 1 ? 'one' : millions(n, i, v) ? 'many' : 'other'),
  fr: (n, i, v) => (i === 0 || i === 1 ? 'one' : millions(n, i, v) ? 'many' : 'other'),
  ru: (n, i, v) => {
    if (v !== 0) return 'other';
    const teens = i % 100 >= 11 && i % 100 <= 14;
    return tens(i, 1, 1) && !teens ? 'one' : tens(i, 2, 4) && !teens ? 'few' : 'many';
  },
  zh: () => 'other',
  ja: () => 'other',
};
const ordinals = {
  en: (n) => {
    const teens = n % 100 >= 11 && n % 100 <= 13;
    return teens ? 'other' : { 1: 'one', 2: 'two', 3: 'few' }[n % 10] ?? 'other';
  },
  fr: (n) => (n === 1 ? 'one' : 'other'),
  it: (n) => ([8, 11, 80, 800].includes(n) ? 'many' : 'other'),
};
const forms = ['few', 'many', 'one', 'two', 'other'];

class PluralRules {
  #n;
  #rule;
  #type;
  constructor(locales, options) {
    const o = object(options);
    this.#type = option(o, 'type', ['cardinal', 'ordinal'], 'cardinal');
    this.#n = new Numbers(locales, { ...o, style: 'decimal' });
    const language = this.#n.locale.split('-')[0];
    this.#rule = this.#type === 'cardinal' ? rules[language] : ordinals[language] ?? (() => 'other');
  }
  select(value) {
    const d = this.#n.digits(decimal(Number(value)));
    if (d.special) return 'other';
    return this.#rule(Number(d.whole + '.' + d.rest), Number(d.whole), d.rest.length);
  }
  selectRange() { throw unsupported('selectRange'); }
  resolvedOptions() {
    const { locale, minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits } = this.#n.resolved();
    const found = new Set([0, 1, 2, 3, 5, 8, 1000000].map((n) => this.select(n)).concat(this.select(1.5)));
    return { locale, type: this.#type, minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, pluralCategories: forms.filter((f) => found.has(f)) };
  }
  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
}
Object.defineProperty(PluralRules.prototype, Symbol.toStringTag, { value: 'Intl.PluralRules', configurable: true });

module.exports = { NumberFormat, PluralRules };
