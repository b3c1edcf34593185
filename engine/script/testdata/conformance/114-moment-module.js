// feature: moment
// group: module
const { probe } = require('./check.js');

const moment = require('moment');

module.exports = probe(({ is }) => {
  const m = moment.utc('2024-01-31T10:20:30.456Z');
  is(m.format('YYYY-MM-DD HH:mm:ss.SSS dddd [at] h A'), '2024-01-31 10:20:30.456 Wednesday at 10 AM');
  is([m.clone().add(1, 'month').format('DD.MM.YYYY'), m.toISOString(), m.valueOf(), m.unix()], ['29.02.2024', '2024-01-31T10:20:30.456Z', 1706696430456, 1706696430]);
  is(m.clone().locale('ru').format('D MMMM YYYY'), '31 января 2024');
  is([moment.utc('2024-03-10').diff(moment.utc('2024-01-31'), 'days'), moment.utc('2024-03-10').isAfter('2024-01-01'), moment('nope', 'YYYY').isValid()], [39, true, false]);
  is(moment.utc('05.02.2024 13:45', 'DD.MM.YYYY HH:mm').startOf('day').toISOString(), '2024-02-05T00:00:00.000Z');
  is([moment.duration(90, 'minutes').asHours(), moment.utc([2024, 1, 3]).endOf('month').date()], [1.5, 29]);
});
