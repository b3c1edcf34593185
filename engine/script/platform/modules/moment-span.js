// Spans of time, as in moment.duration.
'use strict';

const locales = require('#moment-locale');

const sizes = { millisecond: 1, second: 1000, minute: 60000, hour: 3600000, day: 86400000, week: 604800000 };
const counts = { month: 1, quarter: 3, year: 12 };
const short = { y: 'year', Q: 'quarter', M: 'month', w: 'week', d: 'day', h: 'hour', m: 'minute', s: 'second', ms: 'millisecond', D: 'day', W: 'week' };
const daysOfMonth = 146097 / 4800;

function unit(name) {
  if (name === undefined || name === null) return 'millisecond';
  if (short[name]) return short[name];
  const n = String(name).toLowerCase().replace(/s$/, '');
  return n === 'date' ? 'day' : n === 'isoweek' ? 'week' : n;
}

// spanOf reads an amount to add to a moment: months, days and milliseconds, each of which is added separately.
function spanOf(amount, of, unsupported) {
  if (amount instanceof Duration) return amount.span();
  const span = { months: 0, days: 0, milliseconds: 0 };
  const put = (name, value) => {
    const n = Number(value);
    if (!Number.isFinite(n)) return;
    if (counts[name]) span.months += n * counts[name];
    else if (name === 'day') span.days += n;
    else if (name === 'week') span.days += n * 7;
    else if (sizes[name]) span.milliseconds += n * sizes[name];
  };
  if (amount !== null && typeof amount === 'object') {
    if (amount.from !== undefined || amount.to !== undefined) throw unsupported('a duration of from and to');
    for (const [k, v] of Object.entries(amount)) put(unit(k), v);
  } else if (typeof amount === 'string' && of !== undefined && !isFinite(amount)) put(unit(amount), of);
  else if (typeof amount === 'string' && of === undefined) readText(amount, put);
  else put(unit(of), amount);
  span.months = Math.round(span.months);
  const whole = Math.round(span.days);
  span.days = whole;
  return span;
}

const clock = /^([+-])?(?:(\d+)[. ])?(\d+):(\d+)(?::(\d+)(?:\.(\d+))?)?$/;
const iso = /^([+-])?P(?:([\d.,-]+)Y)?(?:([\d.,-]+)M)?(?:([\d.,-]+)W)?(?:([\d.,-]+)D)?(?:T(?:([\d.,-]+)H)?(?:([\d.,-]+)M)?(?:([\d.,-]+)S)?)?$/;

function readText(text, put) {
  let m = clock.exec(text);
  if (m) {
    const sign = m[1] === '-' ? -1 : 1;
    put('day', sign * (m[2] ?? 0));
    put('hour', sign * m[3]);
    put('minute', sign * m[4]);
    put('second', sign * (m[5] ?? 0));
    put('millisecond', sign * Math.round(Number('0.' + (m[6] ?? 0)) * 1000));
    return;
  }
  m = iso.exec(text);
  if (!m) return put('millisecond', text);
  const sign = m[1] === '-' ? -1 : 1;
  ['year', 'month', 'week', 'day', 'hour', 'minute', 'second'].forEach((name, i) => put(name, sign * Number((m[i + 2] ?? '0').replace(',', '.'))));
}

class Duration {
  #months;
  #days;
  #time;
  #locale = locales.en;
  constructor({ months = 0, days = 0, milliseconds = 0 }) {
    [this.#months, this.#days, this.#time] = [months, days, milliseconds];
  }
  span() { return { months: this.#months, days: this.#days, milliseconds: this.#time }; }
  clone() {
    const d = new Duration(this.span());
    d.#locale = this.#locale;
    return d;
  }
  locale(name) {
    if (name === undefined) return this.#locale.name;
    if (!locales[name]) throw new Error('moment: the locale ' + name + ' is not there in the moment of restsrv');
    this.#locale = locales[name];
    return this;
  }
  isValid() { return Number.isFinite(this.valueOf()); }
  // The parts in their display form: 90 minutes are an hour and 30 minutes.
  #parts() {
    let time = this.#time, days = this.#days, months = this.#months;
    if (!((time >= 0 && days >= 0 && months >= 0) || (time <= 0 && days <= 0 && months <= 0))) {
      time += Math.sign(months * daysOfMonth + days) * Math.ceil(Math.abs(months * daysOfMonth + days)) * sizes.day;
      days = months = 0;
    }
    const out = { milliseconds: time % 1000, seconds: Math.trunc(time / 1000) % 60, minutes: Math.trunc(time / 60000) % 60, hours: Math.trunc(time / 3600000) % 24 };
    days += Math.trunc(time / sizes.day);
    const whole = Math.trunc(days / daysOfMonth);
    days -= Math.sign(whole) * Math.ceil(Math.abs(whole * daysOfMonth));
    months += whole;
    return { ...out, days, months: months % 12, years: Math.trunc(months / 12) };
  }
  get(name) { return this[unit(name) + 's'](); }
  as(name) {
    const n = unit(name);
    if (counts[n]) return (this.#months + (this.#days + this.#time / sizes.day) / daysOfMonth) / counts[n];
    return ((this.#days + Math.round(this.#months * daysOfMonth)) * sizes.day + this.#time) / sizes[n];
  }
  valueOf() { return this.#time + this.#days * sizes.day + (this.#months % 12) * 2592e6 + Math.trunc(this.#months / 12) * 31536e6; }
  weeks() { return Math.trunc(this.days() / 7); }
  #change(amount, of, sign) {
    const s = spanOf(amount, of, (what) => new Error('moment: ' + what + ' is not supported'));
    this.#months += sign * s.months;
    this.#days += sign * s.days;
    this.#time += sign * s.milliseconds;
    return this;
  }
  add(amount, of) { return this.#change(amount, of, 1); }
  subtract(amount, of) { return this.#change(amount, of, -1); }
  abs() {
    [this.#months, this.#days, this.#time] = [Math.abs(this.#months), Math.abs(this.#days), Math.abs(this.#time)];
    return this;
  }
  humanize(suffix) { return humanize(this, this.#locale, suffix === true); }
  toISOString() {
    const p = this.#parts(), total = this.as('second');
    if (!total) return 'P0D';
    const part = (n, letter) => (n ? n + letter : '');
    const s = p.seconds + p.milliseconds / 1000, seconds = s ? s.toFixed(3).replace(/\.?0+$/, '') : '';
    const time = part(p.hours, 'H') + part(p.minutes, 'M') + (seconds ? seconds + 'S' : '');
    return (total < 0 ? '-' : '') + ('P' + part(p.years, 'Y') + part(p.months, 'M') + part(p.days, 'D') + (time && 'T' + time)).replace(/(\d)-|-(?=\d)/g, '$1');
  }
  toJSON() { return this.toISOString(); }
  toString() { return this.toISOString(); }
  static part(name) { return function () { return this.#parts()[name]; }; }
}
for (const name of ['milliseconds', 'seconds', 'minutes', 'hours', 'days', 'months', 'years']) Duration.prototype[name] = Duration.part(name);
for (const name of ['milliseconds', 'seconds', 'minutes', 'hours', 'days', 'weeks', 'months', 'quarters', 'years']) {
  Duration.prototype['as' + name[0].toUpperCase() + name.slice(1)] = function () { return this.as(name); };
}

// humanize describes a span approximately: 3 days, in a month.
function humanize(d, locale, suffix) {
  const abs = d.clone().abs(), [s, m, h, days, months, years] = ['s', 'm', 'h', 'd', 'M', 'y'].map((u) => Math.round(abs.as(u)));
  const pairs = [[s <= 44, 's', s], [s < 45, 'ss', s], [m <= 1, 'm', 1], [m < 45, 'mm', m], [h <= 1, 'h', 1], [h < 22, 'hh', h], [days <= 1, 'd', 1], [days < 26, 'dd', days],
    [months <= 1, 'M', 1], [months < 11, 'MM', months], [years <= 1, 'y', 1], [true, 'yy', years]];
  const [, key, n] = pairs.find(([fits]) => fits), text = locale.relative(n, key, !suffix);
  return suffix ? locale.suffix(text, d.as('millisecond') > 0) : text;
}

module.exports = { Duration, spanOf, humanize };
