// Intl.DateTimeFormat.
'use strict';

const { resolve, data, option, number, unsupported, only, object, fill, text, supportedLocalesOf } = require('#intl-locale');

const widths = ['narrow', 'short', 'long'], digits = ['2-digit', 'numeric'], styles = ['full', 'long', 'medium', 'short'];
const fields = {
  weekday: widths, year: digits, month: [...digits, ...widths], day: digits,
  hour: digits, minute: digits, second: digits, timeZoneName: ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'],
};
const ofDate = ['weekday', 'year', 'month', 'day'], ofTime = ['hour', 'minute', 'second', 'fractionalSecondDigits'];
const pad = (n, width = 2) => String(n).padStart(width, '0');

// Readers of American English know only American abbreviations.
const american = new Set(['EST', 'EDT', 'CST', 'CDT', 'MST', 'MDT', 'PST', 'PDT', 'AKST', 'AKDT', 'HST']);

class Dates {
  // required and defaults are the components that are shown if the options name none.
  constructor(locales, options, required, defaults) {
    const o = object(options);
    this.locale = resolve(locales);
    this.data = data(this.locale);
    only(o, 'calendar', ['gregory']);
    only(o, 'numberingSystem', ['latn']);
    for (const name of ['era', 'dayPeriod']) if (o[name] !== undefined) throw unsupported(name);
    this.zone = zone(o.timeZone);
    for (const [name, values] of Object.entries(fields)) this[name] = option(o, name, values);
    if (/Generic/.test(this.timeZoneName)) throw unsupported('timeZoneName ' + JSON.stringify(this.timeZoneName));
    this.fraction = number(o, 'fractionalSecondDigits', 1, 3);
    this.fractionalSecondDigits = this.fraction;
    this.dateStyle = option(o, 'dateStyle', styles);
    this.timeStyle = option(o, 'timeStyle', styles);
    this.hour12 = o.hour12 === undefined ? undefined : Boolean(o.hour12);
    this.cycle = option(o, 'hourCycle', ['h11', 'h12', 'h23', 'h24']);
    if (this.hour12 !== undefined) this.cycle = this.hour12 ? 'h12' : 'h23';
    this.complete(required, defaults);
    this.pattern = this.dateStyle || this.timeStyle ? this.styled() : this.composed();
  }

  has(names) { return names.some((n) => this[n] !== undefined); }

  complete(required, defaults) {
    if (this.dateStyle || this.timeStyle) {
      for (const name of [...Object.keys(fields), 'fractionalSecondDigits']) {
        if (this[name] !== undefined) throw new TypeError("Can't set option " + name + ' when ' + (this.dateStyle ? 'dateStyle' : 'timeStyle') + ' is used');
      }
      if (required === 'date' && this.timeStyle) throw new TypeError('Invalid option : timeStyle');
      if (required === 'time' && this.dateStyle) throw new TypeError('Invalid option : dateStyle');
      return;
    }
    const some = (required !== 'time' && this.has(ofDate)) || (required !== 'date' && this.has(ofTime));
    if (some) return;
    if (defaults !== 'time') this.year = this.month = this.day = 'numeric';
    if (defaults !== 'date') this.hour = this.minute = this.second = 'numeric';
  }

  get hours() { return this.cycle ?? this.data.hours; }
  get letter() { return this.hours === 'h12' || this.hours === 'h11' ? 'h' : 'H'; }

  styled() {
    const { date, time } = this.data.styles, glue = this.data.glue[this.dateStyle];
    const clock = this.timeStyle && this.cycleOf(time[this.timeStyle]);
    if (!this.timeStyle) return date[this.dateStyle];
    return this.dateStyle ? glue.replace('{1}', date[this.dateStyle]).replace('{0}', clock) : clock;
  }

  // cycleOf changes the pattern of a time to the requested hour cycle.
  cycleOf(pattern) {
    if (!this.cycle || (pattern.includes('{a}') ? 'h' : 'H') === this.letter) return pattern;
    const time = this.data.times[this.letter + (pattern.includes('{ss}') ? 'ms' : 'm')];
    const zone = /.\{z+\}/.exec(pattern);
    return time + (zone ? zone[0] : '');
  }

  composed() {
    const date = this.datePattern(), time = this.timePattern();
    if (!date || !time) return date || time;
    return this.glue().replace('{1}', date).replace('{0}', time);
  }

  // glue returns the text between date and time.
  glue() {
    const g = this.data.glue;
    if (!this.has(ofTime)) return g.M;
    if (this.month === 'long') return this.weekday ? g.EMMMM : g.MMMM;
    if (this.month === 'short' || this.month === 'narrow') return g.MMM;
    return this.weekday && !this.year && !this.month && !this.day ? (this.weekday === 'long' ? g.EEEE : g.E) : g.M;
  }

  datePattern() {
    const month = !this.month ? '' : this.month === 'long' ? 'MMMM' : digits.includes(this.month) ? 'M' : 'MMM';
    const rest = (this.year ? 'y' : '') + month + (this.day ? 'd' : ''), all = this.data.dates;
    const key = (this.weekday ? (this.weekday === 'long' && all['EEEE' + rest] ? 'EEEE' : 'E') : '') + rest;
    if (!key) return '';
    let p = all[key];
    if (this.weekday === 'long') p = p.replace(/\{(E|ccc)\}/, '{EEEE}');
    if (this.weekday === 'narrow') p = p.replace(/\{(E|ccc)\}/, '{EEEEE}');
    if (this.month === 'narrow') p = p.replace(/\{(MMM|LLL)\}/, '{MMMMM}');
    if (this.year === '2-digit') p = p.replace('{y}', '{yy}');
    if (this.month === '2-digit') p = p.replace('{M}', '{MM}');
    if (this.day === '2-digit') p = p.replace('{d}', '{dd}');
    return p;
  }

  timePattern() {
    const zone = { short: '{z}', long: '{zzzz}', shortOffset: '{O}', longOffset: '{OOOO}' }[this.timeZoneName];
    if (!this.has(ofTime)) return zone ?? '';
    if (this.hour && this.second && !this.minute) throw unsupported('hours with seconds and no minutes');
    const key = (this.hour ? this.letter : '') + (this.minute ? 'm' : '') + (this.second ? 's' : '');
    let p = key ? this.data.times[this.doubled(key)] : '{S}';
    if (this.hour === '2-digit') p = p.replace('{h}', '{hh}').replace('{H}', '{HH}');
    if (this.fraction && key) p = p.replace(/\{ss?\}/, (s) => (this.second ? s + this.data.number.decimal + '{S}' : s));
    return zone ? this.data.times.zone.replace('{0}', p).replace('{z}', zone) : p;
  }

  // doubled returns the pattern of an hour beside minutes of two digits.
  doubled(key) {
    if (this.hour !== 'numeric' || this.minute !== '2-digit' || this.letter !== 'H') return key;
    return key === 'Hm' ? 'Hmm' : key === 'Hms' && this.second === '2-digit' ? 'Hmmss' : key;
  }

  parts(date) {
    const time = date === undefined ? Date.now() : Number(date);
    if (!(Math.abs(time) <= 8.64e15)) throw new RangeError('Invalid time value');
    const [offset, abbreviation] = native.offset(this.zone, time), d = new Date(Math.floor(time) + offset * 1000);
    return fill(this.pattern, (name) => [this.field(name, d, offset, abbreviation)]);
  }

  field(name, d, offset, abbreviation) {
    const year = d.getUTCFullYear(), month = d.getUTCMonth(), weekday = d.getUTCDay(), hour = d.getUTCHours(), { data } = this;
    switch (name) {
      case 'y': return { type: 'year', value: String(year > 0 ? year : 1 - year) };
      case 'yy': return { type: 'year', value: pad(Math.abs(year) % 100) };
      case 'M': return { type: 'month', value: String(month + 1) };
      case 'MM': return { type: 'month', value: pad(month + 1) };
      case 'MMM': return { type: 'month', value: data.months.short[month] };
      case 'MMMM': return { type: 'month', value: data.months.long[month] };
      case 'MMMMM': return { type: 'month', value: data.months.narrow[month] };
      case 'LLL': return { type: 'month', value: data.alone.short[month] };
      case 'LLLL': return { type: 'month', value: data.alone.long[month] };
      case 'd': return { type: 'day', value: String(d.getUTCDate()) };
      case 'dd': return { type: 'day', value: pad(d.getUTCDate()) };
      case 'E': return { type: 'weekday', value: data.days.short[weekday] };
      case 'ccc': return { type: 'weekday', value: data.days.alone[weekday] };
      case 'EEEE': return { type: 'weekday', value: data.days.long[weekday] };
      case 'EEEEE': return { type: 'weekday', value: data.days.narrow[weekday] };
      case 'a': return { type: 'dayPeriod', value: data.periods[hour < 12 ? 0 : 1] };
      case 'h': case 'hh': case 'H': case 'HH': return { type: 'hour', value: pad(this.clock(hour), name.length) };
      case 'm': case 'mm': return { type: 'minute', value: pad(d.getUTCMinutes(), name.length) };
      case 's': case 'ss': return { type: 'second', value: pad(d.getUTCSeconds(), name.length) };
      case 'S': return { type: 'fractionalSecond', value: pad(d.getUTCMilliseconds(), 3).slice(0, this.fraction) };
      default: return { type: 'timeZoneName', value: this.zoneName(name, offset, abbreviation) };
    }
  }

  clock(hour) {
    switch (this.hours) {
      case 'h11': return hour % 12;
      case 'h12': return hour % 12 || 12;
      case 'h24': return hour || 24;
      default: return hour;
    }
  }

  zoneName(name, offset, abbreviation) {
    const { zones } = this.data, utc = /^(UTC|Etc\/UTC|Etc\/UCT|Zulu)$/.test(this.zone);
    if (utc && name === 'zzzz') return zones.utc;
    if (utc && name === 'z') return 'UTC';
    if (name === 'z' && /^en(-US)?$/.test(this.locale) && american.has(abbreviation)) return abbreviation;
    if (offset === 0) return name === 'O' ? zones.zero : zones.gmt.replace('{0}', '');
    const minutes = Math.abs(Math.trunc(offset / 60)), sign = offset < 0 ? '-' : '+', h = Math.floor(minutes / 60), m = minutes % 60;
    const long = name === 'zzzz' || name === 'OOOO';
    return zones.gmt.replace('{0}', sign + (long ? pad(h) + ':' + pad(m) : h + (m ? ':' + pad(m) : '')));
  }

  resolved() {
    const out = { locale: this.locale, calendar: 'gregory', numberingSystem: 'latn', timeZone: this.zone };
    if (this.hour || this.timeStyle) Object.assign(out, { hourCycle: this.hours, hour12: this.letter === 'h' });
    for (const name of [...Object.keys(fields), 'fractionalSecondDigits', 'dateStyle', 'timeStyle']) if (this[name] !== undefined) out[name] = this[name];
    return out;
  }
}

function zone(name) {
  if (name === undefined) return native.localZone();
  const found = native.zone(String(name));
  if (found === undefined) throw new RangeError('Invalid time zone specified: ' + String(name));
  return found;
}

const inner = new WeakMap();

function DateTimeFormat(locales, options) {
  if (!new.target) return new DateTimeFormat(locales, options);
  const d = new Dates(locales, options, 'any', 'date');
  inner.set(this, { d, format: (date) => text(d.parts(date)) });
}

function the(format, what) {
  const found = inner.get(format);
  if (!found) throw new TypeError(what + ' is called on something else');
  return found;
}

Object.defineProperty(DateTimeFormat.prototype, 'format', { get() { return the(this, 'format').format; }, configurable: true });
Object.defineProperty(DateTimeFormat.prototype, Symbol.toStringTag, { value: 'Intl.DateTimeFormat', configurable: true });
native.define(DateTimeFormat.prototype, {
  formatToParts(date) { return the(this, 'formatToParts').d.parts(date); },
  resolvedOptions() { return the(this, 'resolvedOptions').d.resolved(); },
  formatRange() { throw unsupported('formatRange'); },
  formatRangeToParts() { throw unsupported('formatRangeToParts'); },
});
native.define(DateTimeFormat, { supportedLocalesOf });

module.exports = { DateTimeFormat, Dates };
