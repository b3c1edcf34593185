// The formats of moment: writing and parsing.
'use strict';

const tokens = /\[([^\[\]]*)\]|\\.|YYYYYY|YYYYY|YYYY|YY|Y|Qo|Q|MMMM|MMM|MM|Mo|M|DDDD|DDDo|DDD|DD|Do|D|dddd|ddd|dd|do|d|e|E|ww|wo|w|WW|Wo|W|gggg|gg|GGGG|GG|HH|H|hh|h|kk|k|a|A|mm|m|ss|s|S{1,9}|x|X|zz|z|ZZ|Z|LTS|LT|LLLL|LLL|LL|L|llll|lll|ll|l|N{1,5}|y{1,4}|./gs;
const pad = (n, width) => (n < 0 ? '-' : '') + String(Math.abs(n)).padStart(width, '0');

// expand replaces L, LL, LT ... by their formats in the locale.
function expand(format, locale) {
  const one = (t) => {
    if (locale.long[t]) return locale.long[t];
    const upper = locale.long[t.toUpperCase()];
    return /^l+$/.test(t) && upper ? upper.replace(/MMMM|MM|DD|dddd/g, (x) => x.slice(1)) : t;
  };
  const step = (f) => f.replace(tokens, (t) => (t[0] === '[' || t[0] === '\\' ? t : one(t)));
  return step(step(format));
}

// dayInside matches a format that has a day before the month. Russian uses another case of the word there.
const dayInside = /D[oD]?(\[[^\[\]]*\]|\s)+MMMM?/;

function month(m, list, format) {
  return (list.alone && !dayInside.test(format) ? list.alone : list.format)[m.month()];
}

function weekday(m, list, format) {
  return (list.alone && !(list.inside && list.inside.test(format)) ? list.alone : list.format)[m.day()];
}

function offset(m, separator) {
  const o = m.utcOffset(), n = Math.abs(o);
  return (o < 0 ? '-' : '+') + pad(Math.floor(n / 60), 2) + separator + pad(n % 60, 2);
}

function year(y) { return y >= 0 && y <= 9999 ? pad(y, 4) : y > 9999 ? '+' + y : pad(y, 4); }

const writers = {
  YYYYYY: (m) => (m.year() < 0 ? '' : '+') + pad(m.year(), 6), YYYYY: (m) => pad(m.year(), 5), YYYY: (m) => year(m.year()), YY: (m) => pad(m.year() % 100, 2), Y: (m) => (m.year() <= 9999 ? pad(m.year(), 4) : '+' + m.year()),
  Q: (m) => m.quarter(), M: (m) => m.month() + 1, MM: (m) => pad(m.month() + 1, 2),
  MMM: (m, l, f) => month(m, l.monthsShort, f), MMMM: (m, l, f) => month(m, l.months, f),
  D: (m) => m.date(), DD: (m) => pad(m.date(), 2), DDD: (m) => m.dayOfYear(), DDDD: (m) => pad(m.dayOfYear(), 3),
  d: (m) => m.day(), dd: (m, l) => l.weekdaysMin[m.day()], ddd: (m, l) => l.weekdaysShort[m.day()], dddd: (m, l, f) => weekday(m, l.weekdays, f),
  e: (m) => m.weekday(), E: (m) => m.isoWeekday(), w: (m) => m.week(), ww: (m) => pad(m.week(), 2), W: (m) => m.isoWeek(), WW: (m) => pad(m.isoWeek(), 2),
  gg: (m) => pad(m.weekYear() % 100, 2), gggg: (m) => pad(m.weekYear(), 4), GG: (m) => pad(m.isoWeekYear() % 100, 2), GGGG: (m) => pad(m.isoWeekYear(), 4),
  H: (m) => m.hour(), HH: (m) => pad(m.hour(), 2), h: (m) => m.hour() % 12 || 12, hh: (m) => pad(m.hour() % 12 || 12, 2), k: (m) => m.hour() || 24, kk: (m) => pad(m.hour() || 24, 2),
  m: (m) => m.minute(), mm: (m) => pad(m.minute(), 2), s: (m) => m.second(), ss: (m) => pad(m.second(), 2),
  a: (m, l) => l.meridiem(m.hour(), m.minute(), true), A: (m, l) => l.meridiem(m.hour(), m.minute(), false),
  Z: (m) => offset(m, ':'), ZZ: (m) => offset(m, ''), z: (m) => (m.isUTC() ? 'UTC' : ''), zz: (m) => (m.isUTC() ? 'Coordinated Universal Time' : ''),
  X: (m) => m.unix(), x: (m) => m.valueOf(),
};
for (const [token, of] of Object.entries({ Qo: 'Q', Mo: 'M', Do: 'D', DDDo: 'DDD', do: 'd', wo: 'w', Wo: 'W' })) {
  writers[token] = (m, l, f) => l.ordinal(writers[of](m, l, f), of === 'Q' ? 'Q' : of);
}

function format(m, text, locale, unsupported) {
  const full = expand(text, locale);
  return full.replace(tokens, (t, literal) => {
    if (t[0] === '[') return t.length > 1 ? literal : t;
    if (t[0] === '\\') return t.slice(1);
    if (/^S+$/.test(t)) return pad(m.millisecond(), 3).padEnd(9, '0').slice(0, t.length);
    if (/^(N+|y+)$/.test(t)) throw unsupported('the token ' + t);
    return writers[t] ? String(writers[t](m, locale, full)) : t;
  });
}

const digits = { 1: /\d\d?/, 2: /\d\d/, 3: /\d{3}/, 4: /\d{4}/ };
const strictWidth = { YYYY: 4, YY: 2, MM: 2, DD: 2, DDDD: 3, HH: 2, hh: 2, kk: 2, mm: 2, ss: 2 };

// names returns an expression for the words of a locale, the longest first.
function names(lists) {
  const all = [...new Set(lists.flatMap((l) => Array.isArray(l) ? l : [...l.format, ...(l.alone ?? [])]))].sort((a, b) => b.length - a.length);
  return new RegExp('(?:' + all.map((w) => w.replace(/[.]/g, '\\.?')).join('|') + ')', 'i');
}

function find(lists, word) {
  const w = word.toLowerCase().replace('.', '');
  for (const l of lists) {
    for (const list of Array.isArray(l) ? [l] : [l.format, l.alone ?? []]) {
      const i = list.findIndex((x) => x.toLowerCase().replace('.', '') === w);
      if (i >= 0) return i;
    }
  }
  return -1;
}

// pattern returns an expression for the texts that a token accepts.
function pattern(t, strict, locale, unsupported) {
  if (strict && strictWidth[t]) return digits[strictWidth[t]];
  if (/^S+$/.test(t)) return strict ? new RegExp('\\d{' + t.length + '}') : /\d+/;
  switch (t) {
    case 'YYYY': return /\d{1,4}/;
    case 'YYYYY': case 'YYYYYY': case 'Y': return /[+-]?\d{1,6}/;
    case 'MMM': case 'MMMM': return names([locale.months, locale.monthsShort]);
    case 'dd': case 'ddd': case 'dddd': return names([locale.weekdays, locale.weekdaysShort, locale.weekdaysMin]);
    case 'a': case 'A': return locale.meridiems ?? /[ap]\.?m?\.?/i;
    case 'Z': case 'ZZ': return /Z|[+-]\d\d:?\d\d/i;
    case 'X': return /[+-]?\d+(?:\.\d{1,3})?/;
    case 'x': return /[+-]?\d+/;
    case 'DDD': case 'DDDD': return /\d{1,3}/;
    case 'Do': return locale.name === 'ru' ? /\d\d?(?:-?(?:го|й|я))?/ : /\d\d?(?:th|st|nd|rd)?/i;
    case 'YY': case 'M': case 'MM': case 'D': case 'DD': case 'H': case 'HH': case 'h': case 'hh': case 'k': case 'kk': case 'm': case 'mm': case 's': case 'ss': return digits[1];
    case 'Q': case 'E': case 'e': case 'd': return /\d/;
  }
  throw unsupported('reading the token ' + t);
}

// century returns the year of two digits.
const century = (n) => n + (n > 68 ? 1900 : 2000);

function store(out, t, s, locale) {
  const n = parseInt(s, 10);
  switch (t) {
    case 'YY': out.year = century(n); break;
    case 'YYYY': out.year = s.length === 2 ? century(n) : n; break;
    case 'YYYYY': case 'YYYYYY': case 'Y': out.year = n; break;
    case 'Q': out.month = (n - 1) * 3; break;
    case 'M': case 'MM': out.month = n - 1; break;
    case 'MMM': case 'MMMM': out.month = find([locale.months, locale.monthsShort], s); break;
    case 'D': case 'DD': case 'Do': out.date = n; break;
    case 'DDD': case 'DDDD': out.dayOfYear = n; break;
    case 'dd': case 'ddd': case 'dddd': out.weekday = find([locale.weekdays, locale.weekdaysShort, locale.weekdaysMin], s); break;
    case 'E': case 'e': case 'd': out.weekday = n % 7; break;
    case 'h': case 'hh': out.bigHour = n; out.hour = n; break;
    case 'k': case 'kk': out.hour = n === 24 ? 0 : n; break;
    case 'H': case 'HH': out.hour = n; break;
    case 'm': case 'mm': out.minute = n; break;
    case 's': case 'ss': out.second = n; break;
    case 'a': case 'A': out.meridiem = s; break;
    case 'Z': case 'ZZ': out.offset = readOffset(s); break;
    case 'X': out.time = parseFloat(s) * 1000; break;
    case 'x': out.time = n; break;
    default: out.millisecond = Math.trunc(Number('0.' + s) * 1000);
  }
}

function readOffset(s) {
  const m = /([+-])(\d\d):?(\d\d)/.exec(s);
  return m ? (m[1] === '-' ? -1 : 1) * (Number(m[2]) * 60 + Number(m[3])) : 0;
}

// parse reads a text by a format. It returns the fields found, and the unused parts of the text and of the format.
function parse(text, wanted, strict, locale, unsupported) {
  const out = { unused: 0, left: 0, found: 0 };
  let rest = text;
  for (const t of expand(wanted, locale).match(tokens) ?? []) {
    const literal = t[0] === '[' && t.length > 1 ? t.slice(1, -1) : t[0] === '\\' ? t.slice(1) : /^[A-Za-z]+$/.test(t) && (writers[t] || /^(S+|N+|y+)$/.test(t)) ? null : t;
    if (literal !== null) {
      const at = rest.toLowerCase().indexOf(literal.toLowerCase());
      if (at >= 0) {
        out.left += at;
        rest = rest.slice(at + literal.length);
      } else if (strict) out.unused++;
      continue;
    }
    const m = pattern(t, strict, locale, unsupported).exec(rest);
    if (!m) {
      out.unused++;
      continue;
    }
    out.left += m.index;
    rest = rest.slice(m.index + m[0].length);
    out.found++;
    store(out, t, m[0], locale);
  }
  out.left += rest.length;
  if (out.meridiem !== undefined && out.hour !== undefined) {
    const pm = locale.isPM(out.meridiem);
    if (pm && out.hour < 12) out.hour += 12;
    if (!pm && out.hour === 12) out.hour = 0;
  }
  return out;
}

module.exports = { format, parse, readOffset };
