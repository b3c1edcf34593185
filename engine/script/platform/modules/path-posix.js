// path/posix: path itself.
module.exports = require('path');
