// moment, as far as services use it: times, formats and spans, in English and Russian. Missing parts throw an
// error that names them.
'use strict';

const locales = require('#moment-locale');
const formats = require('#moment-format');
const { Duration, spanOf, humanize } = require('#moment-span');

let present = locales.en;

function unsupported(what) {
  return new Error('moment: ' + what + ' is not there in the moment of restsrv; install the package moment in node_modules of the application and set "scripts": {"nodeModules": true} in deploy.json');
}

function localeOf(name) {
  const found = [].concat(name).map((n) => locales[String(n).toLowerCase().replace(/^(en-us|ru-ru)$/, (s) => s.slice(0, 2))]).find(Boolean);
  if (!found) throw unsupported('the locale ' + name);
  return found;
}

const unitNames = {
  y: 'year', Q: 'quarter', M: 'month', w: 'week', W: 'isoWeek', d: 'day', D: 'date', h: 'hour', m: 'minute', s: 'second', ms: 'millisecond',
  e: 'weekday', E: 'isoWeekday', DDD: 'dayOfYear',
};

function unit(name) {
  if (unitNames[name]) return unitNames[name];
  const plain = String(name).toLowerCase().replace(/s$/, '');
  const special = { isoweek: 'isoWeek', isoweekday: 'isoWeekday', dayofyear: 'dayOfYear', weekyear: 'weekYear', isoweekyear: 'isoWeekYear' };
  return special[plain] ?? plain;
}

const day = 86400000;

// Moment is a time at an offset: the offset of the server, or its own.
class Moment {
  #time;
  #offset; // minutes; undefined for the offset of the server
  #locale;
  constructor(time, offset, locale) {
    this.#time = time;
    this.#offset = offset;
    this.#locale = locale ?? present;
  }

  // become changes the time in place.
  become(time) {
    this.#time = time;
    return this;
  }
  clone() { return new Moment(this.#time, this.#offset, this.#locale); }
  isValid() { return !Number.isNaN(this.#time); }
  valueOf() { return this.#time; }
  unix() { return Math.floor(this.#time / 1000); }
  toDate() { return new Date(this.#time); }

  isUTC() { return this.#offset === 0; }
  isUtc() { return this.#offset === 0; }
  isLocal() { return this.isValid() && this.#offset === undefined; }
  isUtcOffset() { return this.isValid() && this.#offset !== undefined; }
  utc(keep) { return this.utcOffset(0, keep); }
  local(keep) {
    const f = keep && fieldsOf(this);
    this.#offset = undefined;
    return keep ? this.become(assemble(f, undefined)) : this;
  }
  utcOffset(value, keep) {
    if (value === undefined) return this.#offset ?? -Math.round(new Date(this.#time).getTimezoneOffset());
    const f = keep && fieldsOf(this);
    if (typeof value === 'string') value = formats.readOffset(value);
    else if (Math.abs(value) < 16) value *= 60;
    this.#offset = value;
    return keep ? this.become(assemble(f, value)) : this;
  }
  get fixed() { return this.#offset; }

  locale(name) {
    if (name === undefined) return this.#locale.name;
    this.#locale = localeOf(name);
    return this;
  }
  lang(name) { return this.locale(name); }
  localeData() { throw unsupported('localeData'); }
  get words() { return this.#locale; }

  format(text) {
    if (!this.isValid()) return 'Invalid date';
    return formats.format(this, text ?? (this.isUTC() ? 'YYYY-MM-DDTHH:mm:ss[Z]' : 'YYYY-MM-DDTHH:mm:ssZ'), this.#locale, unsupported);
  }
  toISOString(keep) {
    if (!this.isValid()) return null;
    return keep ? this.format('YYYY-MM-DD[T]HH:mm:ss.SSSZ') : new Date(this.#time).toISOString();
  }
  toJSON() { return this.isValid() ? this.toISOString() : null; }
  toString() { return this.clone().locale('en').format('ddd MMM DD YYYY HH:mm:ss [GMT]ZZ'); }
  inspect() { return this.isValid() ? 'moment("' + this.format('YYYY-MM-DD[T]HH:mm:ss.SSS') + '")' : 'moment.invalid(/* NaN */)'; }
  toArray() { const f = fieldsOf(this); return [f.year, f.month, f.date, f.hour, f.minute, f.second, f.millisecond]; }
  toObject() {
    const f = fieldsOf(this);
    return { years: f.year, months: f.month, date: f.date, hours: f.hour, minutes: f.minute, seconds: f.second, milliseconds: f.millisecond };
  }

  get(name) {
    if (typeof name === 'object') return Object.fromEntries(Object.keys(name).map((k) => [k, this.get(k)]));
    const n = unit(name);
    return typeof this[n] === 'function' ? this[n]() : this;
  }
  set(name, value) {
    if (typeof name === 'object') {
      for (const [k, v] of Object.entries(name)) this.set(k, v);
      return this;
    }
    const n = unit(name);
    return typeof this[n] === 'function' ? this[n](value) : this;
  }

  add(amount, of) { return shift(this, spanOf(amount, of, unsupported), 1); }
  subtract(amount, of) { return shift(this, spanOf(amount, of, unsupported), -1); }

  startOf(name) { return begin(this, unit(name)); }
  endOf(name) {
    const n = unit(name), known = /^(year|quarter|month|week|isoWeek|day|date|hour|minute|second)$/.test(n);
    if (!known) return this;
    return begin(this, n).add(1, n === 'isoWeek' ? 'week' : n === 'date' ? 'day' : n).become(this.#time - 1);
  }

  diff(other, name, exact) {
    const that = like(other, this);
    if (!this.isValid() || !that.isValid()) return NaN;
    const value = difference(this, that, unit(name ?? 'millisecond'));
    return exact ? value : (Math.trunc(value) || 0);
  }

  isSame(other, name) { return compare(this, other, name, (from, to, t) => from <= t && t <= to); }
  isBefore(other, name) { return compare(this, other, name, (from, to, t) => to < t); }
  isAfter(other, name) { return compare(this, other, name, (from, to, t) => from > t); }
  isSameOrBefore(other, name) { return this.isSame(other, name) || this.isBefore(other, name); }
  isSameOrAfter(other, name) { return this.isSame(other, name) || this.isAfter(other, name); }
  isBetween(from, to, name, ends = '()') {
    const a = moment(from), b = moment(to);
    if (!this.isValid() || !a.isValid() || !b.isValid()) return false;
    return (ends[0] === '(' ? this.isAfter(a, name) : !this.isBefore(a, name)) && (ends[1] === ')' ? this.isBefore(b, name) : !this.isAfter(b, name));
  }

  from(other, alone) {
    const that = moment(other);
    if (!this.isValid() || !that.isValid()) return 'Invalid date';
    return humanize(monthsBetween(this, that), this.#locale, !alone);
  }
  fromNow(alone) { return this.from(moment(), alone); }
  to(other, alone) {
    const that = moment(other);
    if (!this.isValid() || !that.isValid()) return 'Invalid date';
    return humanize(monthsBetween(that, this), this.#locale, !alone);
  }
  toNow(alone) { return this.to(moment(), alone); }

  calendar(reference, own) {
    const now = reference === undefined ? moment() : moment(reference), today = like(now, this).startOf('day');
    const n = this.diff(today, 'days', true);
    const key = n < -6 ? 'sameElse' : n < -1 ? 'lastWeek' : n < 0 ? 'lastDay' : n < 1 ? 'sameDay' : n < 2 ? 'nextDay' : n < 7 ? 'nextWeek' : 'sameElse';
    const text = own?.[key] ?? this.#locale.calendar[key];
    return this.format(typeof text === 'function' ? text.call(this, own?.[key] ? now : this, now) : text);
  }

  daysInMonth() { const f = fieldsOf(this); return new Date(Date.UTC(f.year, f.month + 1, 0)).getUTCDate(); }
  isLeapYear() { const y = this.year(); return (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0; }
  day(value) {
    const now = fieldsOf(this).weekday;
    if (value === undefined) return this.isValid() ? now : NaN;
    return this.add(weekdayOf(value, this.#locale) - now, 'day');
  }
  weekday(value) {
    const now = (this.day() + 7 - this.#locale.week.first) % 7;
    return value === undefined ? now : this.add(value - now, 'day');
  }
  isoWeekday(value) {
    const now = this.day() || 7;
    return value === undefined ? now : this.add((weekdayOf(value, this.#locale) || 7) - now, 'day');
  }
  dayOfYear(value) {
    const f = fieldsOf(this), now = Math.round((Date.UTC(f.year, f.month, f.date) - Date.UTC(f.year, 0, 1)) / day) + 1;
    return value === undefined ? now : this.add(value - now, 'day');
  }
  quarter(value) {
    const now = Math.floor(this.month() / 3) + 1;
    return value === undefined ? now : this.month((value - 1) * 3 + (this.month() % 3));
  }
  week(value) { return weekOf(this, this.#locale.week, value, 1); }
  isoWeek(value) { return weekOf(this, { first: 1, january: 4 }, value, 1); }
  weekYear(value) { return weekOf(this, this.#locale.week, value, 0); }
  isoWeekYear(value) { return weekOf(this, { first: 1, january: 4 }, value, 0); }
}

function weekdayOf(value, locale) {
  if (typeof value !== 'string') return value;
  if (/^\d+$/.test(value)) return Number(value);
  const i = [locale.weekdays.alone ?? locale.weekdays.format, locale.weekdaysShort, locale.weekdaysMin]
    .map((l) => l.findIndex((w) => w.toLowerCase() === value.toLowerCase())).find((n) => n >= 0);
  return i ?? 0;
}

// weekOf returns or changes the year (which = 0) or the week (which = 1) of a moment. Weeks begin at the day first,
// and the first week contains the day january of January.
function weekOf(m, { first, january }, value, which) {
  const f = fieldsOf(m), today = Date.UTC(f.year, f.month, f.date);
  const startOf = (year) => {
    const edge = 7 + first - january, at = Date.UTC(year, 0, edge), off = (7 + new Date(at).getUTCDay() - first) % 7;
    return at - off * day;
  };
  let year = f.year;
  if (today < startOf(year)) year--;
  else if (today >= startOf(year + 1)) year++;
  const now = [year, Math.floor((today - startOf(year)) / (7 * day)) + 1];
  if (value === undefined) return now[which];
  if (which === 1) return m.add((value - now[1]) * 7, 'day');
  const moved = startOf(value) + (now[1] - 1) * 7 * day + ((new Date(today).getUTCDay() - first + 7) % 7) * day;
  return m.add(Math.round((moved - today) / day), 'day');
}

// fieldsOf returns year, month, date ... of a moment at its offset.
function fieldsOf(m) {
  const offset = m.fixed, utc = offset !== undefined, d = new Date(m.valueOf() + (utc ? offset * 60000 : 0)), get = utc ? 'getUTC' : 'get';
  return {
    year: d[get + 'FullYear'](), month: d[get + 'Month'](), date: d[get + 'Date'](), hour: d[get + 'Hours'](), minute: d[get + 'Minutes'](),
    second: d[get + 'Seconds'](), millisecond: d[get + 'Milliseconds'](), weekday: d[get + 'Day'](),
  };
}

// assemble returns the time of such fields. They may overflow.
function assemble({ year, month = 0, date = 1, hour = 0, minute = 0, second = 0, millisecond = 0 }, offset) {
  if (offset !== undefined) {
    const d = new Date(Date.UTC(2000, 0, 1, hour, minute, second, millisecond));
    d.setUTCFullYear(year, month, date + (d.getUTCDate() - 1));
    return Date.UTC(2000, 0, 1, hour, minute, second, millisecond) - Date.UTC(2000, 0, 1) + midnight(year, month, date) - offset * 60000;
  }
  const d = new Date(2000, 0, 1, hour, minute, second, millisecond);
  if (year >= 0 && year < 100) {
    d.setFullYear(year, month, date);
    return d.getTime();
  }
  return new Date(year, month, date, hour, minute, second, millisecond).getTime();
}

function midnight(year, month, date) {
  const d = new Date(0);
  d.setUTCFullYear(year, month, date);
  return d.getTime();
}

for (const name of ['year', 'month', 'date', 'hour', 'minute', 'second', 'millisecond']) {
  const f = function (value) {
    const all = fieldsOf(this);
    if (value === undefined) return this.isValid() ? all[name] : NaN;
    if (name === 'month' && typeof value === 'string' && !/^\d+$/.test(value)) {
      value = [this.words.months, this.words.monthsShort].flatMap((l) => [l.format, l.alone ?? []]).map((l) => l.findIndex((w) => w.toLowerCase() === value.toLowerCase())).find((i) => i >= 0);
      if (value === undefined) return this;
    }
    all[name] = Number(value);
    if (name === 'year' || name === 'month') all.date = Math.min(all.date, new Date(Date.UTC(2000 + (all.year % 400), all.month + 1, 0)).getUTCDate());
    return this.become(assemble(all, this.fixed));
  };
  Moment.prototype[name] = f;
  if (name !== 'date') Moment.prototype[name + 's'] = f;
}
Object.assign(Moment.prototype, {
  dates: Moment.prototype.date, days: Moment.prototype.day, weeks: Moment.prototype.week, isoWeeks: Moment.prototype.isoWeek, quarters: Moment.prototype.quarter,
});

function shift(m, span, sign) {
  if (!m.isValid()) return m;
  const f = fieldsOf(m);
  if (span.months) {
    const month = f.month + sign * span.months, year = f.year + Math.floor(month / 12);
    f.year = year;
    f.month = ((month % 12) + 12) % 12;
    f.date = Math.min(f.date, new Date(Date.UTC(2000 + (((year % 400) + 400) % 400), f.month + 1, 0)).getUTCDate());
  }
  f.date += sign * span.days;
  const base = span.months || span.days ? assemble(f, m.fixed) : m.valueOf();
  return m.become(base + sign * span.milliseconds);
}

function begin(m, name) {
  const f = fieldsOf(m), order = ['year', 'month', 'date', 'hour', 'minute', 'second', 'millisecond'];
  const zero = (from) => { for (const n of order.slice(from)) f[n] = n === 'date' ? 1 : 0; };
  switch (name) {
    case 'year': zero(1); break;
    case 'quarter': f.month -= f.month % 3; zero(2); break;
    case 'month': zero(2); break;
    case 'week': f.date -= m.weekday(); zero(3); break;
    case 'isoWeek': f.date -= m.isoWeekday() - 1; zero(3); break;
    case 'day': case 'date': zero(3); break;
    case 'hour': case 'minute': case 'second': {
      const size = { hour: 3600000, minute: 60000, second: 1000 }[name], t = m.valueOf() + m.utcOffset() * 60000;
      return m.become(m.valueOf() - (((t % size) + size) % size));
    }
    default: return m;
  }
  return m.become(assemble(f, m.fixed));
}

// like returns another time at the offset of m.
function like(other, m) {
  const that = moment(other);
  return m.fixed === undefined ? that.clone().local() : that.clone().utcOffset(m.fixed === 0 ? 0 : m.fixed);
}

function months(a, b) {
  if (a.date() < b.date()) return -months(b, a);
  const whole = (b.year() - a.year()) * 12 + (b.month() - a.month()), anchor = a.clone().add(whole, 'month');
  const other = a.clone().add(whole + (b - anchor < 0 ? -1 : 1), 'month');
  const part = b - anchor < 0 ? (b - anchor) / (anchor - other) : (b - anchor) / (other - anchor);
  return -(whole + part) || 0;
}

function difference(a, b, name) {
  const zones = (b.utcOffset() - a.utcOffset()) * 60000;
  switch (name) {
    case 'year': return months(a, b) / 12;
    case 'quarter': return months(a, b) / 3;
    case 'month': return months(a, b);
    case 'week': case 'isoWeek': return (a - b - zones) / (7 * day);
    case 'day': case 'date': return (a - b - zones) / day;
    case 'hour': return (a - b) / 3600000;
    case 'minute': return (a - b) / 60000;
    case 'second': return (a - b) / 1000;
    default: return a - b;
  }
}

function compare(m, other, name, holds) {
  const that = moment(other);
  if (!m.isValid() || !that.isValid()) return false;
  const n = unit(name ?? 'millisecond');
  if (n === 'millisecond') return holds(m.valueOf(), m.valueOf(), that.valueOf());
  return holds(m.clone().startOf(n).valueOf(), m.clone().endOf(n).valueOf(), that.valueOf());
}

// monthsBetween returns the span from b to a, in months and a fraction.
function monthsBetween(a, b) {
  const sign = a < b ? -1 : 1, from = sign < 0 ? a : b, to = sign < 0 ? b : a;
  let n = (to.year() - from.year()) * 12 + to.month() - from.month();
  if (from.clone().add(n, 'month') > to) n--;
  return new Duration({ months: sign * n, milliseconds: sign * (to - from.clone().add(n, 'month')) });
}

const iso = /^([+-]\d{6}|\d{4})(?:-?(?:W(\d\d)(?:-?(\d))?|(\d\d)(?:-?(\d\d))?|(\d{3})))?(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

function readISO(text, utc) {
  const m = iso.exec(text.trim());
  if (!m || /^\d{6}$/.test(text.trim())) return undefined;
  if (m[2]) throw unsupported('reading weeks such as ' + text);
  const f = { year: Number(m[1]), month: m[4] ? Number(m[4]) - 1 : 0, date: m[5] ? Number(m[5]) : 1, hour: Number(m[7] ?? 0), minute: Number(m[8] ?? 0), second: Number(m[9] ?? 0) };
  f.millisecond = m[10] ? Math.trunc(Number('0.' + m[10]) * 1000) : 0;
  if (m[6]) Object.assign(f, { month: 0, date: Number(m[6]), dayOfYear: Number(m[6]) });
  if (m[11]) f.offset = m[11] === 'Z' ? 0 : formats.readOffset(m[11].length === 3 ? m[11] + '00' : m[11]);
  return build(f, utc);
}

function inRange(f) {
  const last = new Date(Date.UTC(2000 + (((f.year % 400) + 400) % 400), f.month + 1, 0)).getUTCDate();
  const days = f.dayOfYear === undefined ? f.date >= 1 && f.date <= last : f.dayOfYear >= 1 && f.dayOfYear <= 366;
  const late = f.hour === 24 && !f.minute && !f.second && !f.millisecond;
  return f.month >= 0 && f.month < 12 && days && (f.hour < 24 || late) && f.minute < 60 && f.second < 60;
}

function build(f, utc) {
  if (!inRange(f)) return NaN;
  return assemble(f, f.offset ?? (utc ? 0 : undefined));
}

// readFormat reads a text by a format. A missing field is today's if its unit is larger than those of the given fields.
function readFormat(text, format, strict, utc, locale) {
  const found = formats.parse(text, format, strict, locale, unsupported);
  if (found.found === 0 || (strict && (found.unused || found.left))) return { time: NaN, left: Infinity };
  if (found.bigHour !== undefined && (found.bigHour > 12 || found.bigHour < 1) && found.meridiem !== undefined) return { time: NaN, left: Infinity };
  if (found.time !== undefined) return { time: found.time, left: found.left };
  const now = fieldsOf(utc ? moment.utc() : moment()), f = { year: now.year, month: 0, date: 1, hour: 0, minute: 0, second: 0, millisecond: 0 };
  const date = found.year !== undefined || found.month !== undefined || found.date !== undefined || found.dayOfYear !== undefined;
  if (!date) Object.assign(f, { month: now.month, date: now.date });
  else if (found.year === undefined && found.month === undefined && found.dayOfYear === undefined) f.month = now.month;
  for (const name of ['year', 'month', 'date', 'hour', 'minute', 'second', 'millisecond', 'offset', 'dayOfYear']) if (found[name] !== undefined) f[name] = found[name];
  if (found.dayOfYear !== undefined && found.month === undefined) Object.assign(f, { month: 0, date: found.dayOfYear });
  let time = build(f, utc);
  if (!date && found.weekday !== undefined) time = new Moment(time, utc ? 0 : undefined).day(found.weekday).valueOf();
  else if (found.weekday !== undefined && new Date(Date.UTC(2000 + (f.year % 400), f.month, f.date)).getUTCDay() !== found.weekday) time = NaN;
  return { time, left: found.left + found.unused * 100 };
}

function read(input, format, strict, utc, locale) {
  if (input === undefined || (input === '' && format === undefined)) return input === '' ? NaN : Date.now();
  if (input === null) return NaN;
  if (input instanceof Moment || input instanceof Date || typeof input === 'number' && format === undefined) return Number(input);
  if (Array.isArray(input)) {
    if (input.length === 0) return Date.now();
    const [year, month = 0, date = 1, hour = 0, minute = 0, second = 0, millisecond = 0] = input.map(Number);
    return build({ year, month, date, hour, minute, second, millisecond }, utc);
  }
  if (typeof input === 'object') return readObject(input, utc);
  const text = String(input);
  if (format === moment.ISO_8601) return readISO(text, utc) ?? NaN;
  if (format === undefined) return readISO(text, utc) ?? Date.parse(text);
  const all = [].concat(format).map((f) => (f === moment.ISO_8601 ? { time: readISO(text, utc) ?? NaN, left: 0 } : readFormat(text, f, strict, utc, locale)));
  return all.filter((r) => !Number.isNaN(r.time)).sort((a, b) => a.left - b.left)[0]?.time ?? NaN;
}

function readObject(input, utc) {
  const now = fieldsOf(utc ? moment.utc() : moment()), given = {};
  for (const [k, v] of Object.entries(input)) {
    const n = unit(k);
    given[n === 'day' ? 'date' : n] = Number(v);
  }
  if (Object.keys(given).length === 0) return Date.now();
  const f = { year: now.year, month: now.month, date: now.date, hour: 0, minute: 0, second: 0, millisecond: 0 };
  if (given.year !== undefined) Object.assign(f, { month: 0, date: 1 });
  else if (given.month !== undefined) f.date = 1;
  return build(Object.assign(f, given), utc);
}

function make(utc, input, format, locale, strict) {
  if (typeof locale === 'boolean') [locale, strict] = [undefined, locale];
  if (format === true) [format, strict] = [undefined, true];
  const l = locale === undefined ? (input instanceof Moment ? input.words : present) : localeOf(locale);
  const offset = utc ? 0 : input instanceof Moment ? input.fixed : undefined;
  return new Moment(read(input, format, strict, utc, l), offset, l);
}

function moment(input, format, locale, strict) { return make(false, input, format, locale, strict); }

// pick returns the earliest or latest of some moments.
function pick(all, better) {
  const list = (Array.isArray(all[0]) ? all[0] : all);
  if (list.length === 0) return moment();
  return list.map((m) => moment(m)).reduce((a, b) => (!a.isValid() ? a : !b.isValid() ? b : better(b, a) ? b : a));
}

Object.assign(moment, {
  fn: Moment.prototype,
  ISO_8601: () => {},
  utc: (input, format, locale, strict) => make(true, input, format, locale, strict),
  unix: (seconds) => moment(seconds * 1000),
  now: () => Date.now(),
  invalid: () => new Moment(NaN),
  isMoment: (m) => m instanceof Moment,
  isDate: (d) => d instanceof Date,
  isDuration: (d) => d instanceof Duration,
  duration: (amount, of) => (amount instanceof Duration ? amount.clone() : Object.assign(new Duration(spanOf(amount, of, unsupported)))).locale(present.name),
  min: (...all) => pick(all, (b, a) => b < a),
  max: (...all) => pick(all, (b, a) => b > a),
  locale: (name) => { if (name !== undefined) present = localeOf(name); return present.name; },
  lang: (name) => moment.locale(name),
  locales: () => Object.keys(locales),
  months: () => (present.months.alone ?? present.months.format).slice(),
  monthsShort: () => (present.monthsShort.alone ?? present.monthsShort.format).slice(),
  weekdays: () => (present.weekdays.alone ?? present.weekdays.format).slice(),
  weekdaysShort: () => present.weekdaysShort.slice(),
  weekdaysMin: () => present.weekdaysMin.slice(),
  normalizeUnits: unit,
  version: '2.30.1',
  HTML5_FMT: {
    DATETIME_LOCAL: 'YYYY-MM-DDTHH:mm', DATETIME_LOCAL_SECONDS: 'YYYY-MM-DDTHH:mm:ss', DATETIME_LOCAL_MS: 'YYYY-MM-DDTHH:mm:ss.SSS',
    DATE: 'YYYY-MM-DD', TIME: 'HH:mm', TIME_SECONDS: 'HH:mm:ss', TIME_MS: 'HH:mm:ss.SSS', WEEK: 'GGGG-[W]WW', MONTH: 'YYYY-MM',
  },
});
for (const name of ['tz', 'parseZone', 'defineLocale', 'updateLocale', 'localeData', 'relativeTimeThreshold', 'relativeTimeRounding', 'calendarFormat']) {
  moment[name] = () => { throw unsupported(name); };
}
for (const name of ['tz', 'parseZone', 'isDST', 'zoneAbbr', 'zoneName', 'parsingFlags', 'creationData', 'weeksInYear', 'isoWeeksInYear', 'eraName', 'hasAlignedHourOffset', 'invalidAt']) {
  Moment.prototype[name] = () => { throw unsupported(name); };
}

module.exports = moment;
