// feature: require of files: extensions, folders, JSON, cycles
// group: module
const { probe } = require('./check.js');

const cycle = require('./cycle-a');

module.exports = probe(({ is, throws }) => {
  is([require('./data.json').list, require('./data').name], [[1, 2, 3], 'Имя']);
  is([cycle.name, cycle.seen, cycle.other], ['a', undefined, 'b']);
  is([require('./cycle-a') === cycle, typeof __filename, typeof __dirname, typeof module.id], [true, 'string', 'string', 'string']);
  throws(() => require('./no-such-file'), 'Error');
  throws(() => require('../../../../../../../../etc/passwd'), 'Error');
});
