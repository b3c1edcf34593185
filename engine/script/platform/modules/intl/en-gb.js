// The formats of dates, numbers and lists in the locale en-GB, as far as they differ from en.
module.exports = require('#intl/derive')(require('#intl/en'), {
  hours: 'h23',
  periods: ['am', 'pm'],
  months: {
    short: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec'],
  },
  alone: {
    short: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec'],
  },
  dates: {
    Ed: '{E} {d}',
    Eyd: '{E} {d} {y}',
    Md: '{dd}/{MM}',
    EMd: '{E} {dd}/{MM}',
    yM: '{MM}/{y}',
    EyM: '{MM}/{y} {E}',
    yMd: '{dd}/{MM}/{y}',
    EyMd: '{E}, {dd}/{MM}/{y}',
    MMMd: '{d} {MMM}',
    EMMMd: '{E} {d} {MMM}',
    yMMMd: '{d} {MMM} {y}',
    EyMMMd: '{E}, {d} {MMM} {y}',
    MMMMd: '{d} {MMMM}',
    EMMMMd: '{E} {d} {MMMM}',
    yMMMMd: '{d} {MMMM} {y}',
    EyMMMMd: '{E}, {d} {MMMM} {y}',
  },
  times: { Hmm: '{H}:{mm}', Hmmss: '{H}:{mm}:{ss}' },
  styles: {
    date: {
      full: '{EEEE}, {d} {MMMM} {y}',
      long: '{d} {MMMM} {y}',
      medium: '{d} {MMM} {y}',
      short: '{dd}/{MM}/{y}',
    },
    time: {
      full: '{HH}:{mm}:{ss} {zzzz}',
      long: '{HH}:{mm}:{ss} {z}',
      medium: '{HH}:{mm}:{ss}',
      short: '{HH}:{mm}',
    },
  },
  symbols: { USD: 'US$', JPY: 'JP¥' },
  lists: {
    'conjunction long': [' and ', ', ', ' and '],
    'conjunction short': [' and ', ', ', ' and '],
    'disjunction long': [' or ', ', ', ' or '],
    'disjunction short': [' or ', ', ', ' or '],
    'disjunction narrow': [' or ', ', ', ' or '],
  },
});
