exports.name = 'a';
const b = require('./cycle-b');
exports.other = b.name;
