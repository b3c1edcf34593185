// How moment writes dates in English and Russian.
'use strict';

const words = (s) => s.split('_');

const en = {
  name: 'en',
  months: { format: words('January_February_March_April_May_June_July_August_September_October_November_December') },
  monthsShort: { format: words('Jan_Feb_Mar_Apr_May_Jun_Jul_Aug_Sep_Oct_Nov_Dec') },
  weekdays: { format: words('Sunday_Monday_Tuesday_Wednesday_Thursday_Friday_Saturday') },
  weekdaysShort: words('Sun_Mon_Tue_Wed_Thu_Fri_Sat'),
  weekdaysMin: words('Su_Mo_Tu_We_Th_Fr_Sa'),
  week: { first: 0, january: 6 },
  long: {
    LTS: 'h:mm:ss A', LT: 'h:mm A', L: 'MM/DD/YYYY', LL: 'MMMM D, YYYY', LLL: 'MMMM D, YYYY h:mm A', LLLL: 'dddd, MMMM D, YYYY h:mm A',
  },
  meridiem: (hour, minute, lower) => (lower ? ['am', 'pm'] : ['AM', 'PM'])[hour > 11 ? 1 : 0],
  isPM: (s) => /^p/i.test(s),
  ordinal: (n) => n + (Math.floor((n % 100) / 10) === 1 ? 'th' : ['th', 'st', 'nd', 'rd'][n % 10] ?? 'th'),
  relative(n, key, alone) {
    const forms = {
      s: 'a few seconds', ss: '%d seconds', m: 'a minute', mm: '%d minutes', h: 'an hour', hh: '%d hours', d: 'a day', dd: '%d days',
      w: 'a week', ww: '%d weeks', M: 'a month', MM: '%d months', y: 'a year', yy: '%d years',
    };
    return forms[key].replace('%d', n);
  },
  suffix: (s, future) => (future ? 'in ' + s : s + ' ago'),
  calendar: {
    sameDay: '[Today at] LT', nextDay: '[Tomorrow at] LT', nextWeek: 'dddd [at] LT', lastDay: '[Yesterday at] LT', lastWeek: '[Last] dddd [at] LT', sameElse: 'L',
  },
};

// plural returns the Russian form of a word: 1 день, 2 дня, 5 дней.
function plural(n, forms) {
  const [one, few, many] = words(forms);
  if (n % 10 === 1 && n % 100 !== 11) return one;
  return n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 10 || n % 100 >= 20) ? few : many;
}

function week(past) {
  return (m, now) => {
    const day = m.day();
    if (now.week() === m.week()) return (day === 2 ? '[Во]' : '[В]') + ' dddd, [в] LT';
    const gender = day === 0 ? 'ее' : [1, 2, 4].includes(day) ? 'ий' : 'ую';
    const last = day === 0 ? 'ое' : [1, 2, 4].includes(day) ? 'ый' : 'ую';
    return past ? '[В прошл' + last + '] dddd, [в] LT' : '[В следующ' + gender + '] dddd, [в] LT';
  };
}

const ru = {
  name: 'ru',
  months: {
    format: words('января_февраля_марта_апреля_мая_июня_июля_августа_сентября_октября_ноября_декабря'),
    alone: words('январь_февраль_март_апрель_май_июнь_июль_август_сентябрь_октябрь_ноябрь_декабрь'),
  },
  monthsShort: {
    format: words('янв._февр._мар._апр._мая_июня_июля_авг._сент._окт._нояб._дек.'),
    alone: words('янв._февр._март_апр._май_июнь_июль_авг._сент._окт._нояб._дек.'),
  },
  weekdays: {
    alone: words('воскресенье_понедельник_вторник_среда_четверг_пятница_суббота'),
    format: words('воскресенье_понедельник_вторник_среду_четверг_пятницу_субботу'),
    inside: /\[ ?[Вв] ?(?:прошлую|следующую|эту)? ?] ?dddd/,
  },
  weekdaysShort: words('вс_пн_вт_ср_чт_пт_сб'),
  weekdaysMin: words('вс_пн_вт_ср_чт_пт_сб'),
  week: { first: 1, january: 4 },
  long: {
    LT: 'H:mm', LTS: 'H:mm:ss', L: 'DD.MM.YYYY', LL: 'D MMMM YYYY г.', LLL: 'D MMMM YYYY г., H:mm', LLLL: 'dddd, D MMMM YYYY г., H:mm',
  },
  meridiem: (hour) => (hour < 4 ? 'ночи' : hour < 12 ? 'утра' : hour < 17 ? 'дня' : 'вечера'),
  isPM: (s) => /^(дня|вечера)$/.test(s),
  meridiems: /ночи|утра|дня|вечера/i,
  ordinal: (n, token) => n + ({ M: '-й', d: '-й', DDD: '-й', D: '-го', w: '-я', W: '-я' }[token] ?? ''),
  relative(n, key, alone) {
    const single = { s: 'несколько секунд', m: alone ? 'минута' : 'минуту', h: 'час', d: 'день', w: 'неделя', M: 'месяц', y: 'год' };
    if (key.length === 1) return single[key];
    return n + ' ' + plural(n, {
      ss: alone ? 'секунда_секунды_секунд' : 'секунду_секунды_секунд', mm: alone ? 'минута_минуты_минут' : 'минуту_минуты_минут',
      hh: 'час_часа_часов', dd: 'день_дня_дней', ww: 'неделя_недели_недель', MM: 'месяц_месяца_месяцев', yy: 'год_года_лет',
    }[key]);
  },
  suffix: (s, future) => (future ? 'через ' + s : s + ' назад'),
  calendar: {
    sameDay: '[Сегодня, в] LT', nextDay: '[Завтра, в] LT', lastDay: '[Вчера, в] LT', nextWeek: week(false), lastWeek: week(true), sameElse: 'L',
  },
};

module.exports = { en, ru };
