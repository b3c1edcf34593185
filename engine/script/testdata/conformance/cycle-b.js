const a = require('./cycle-a');
exports.name = 'b';
exports.seen = a.other;
