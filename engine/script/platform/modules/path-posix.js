// path/posix is the module path.
module.exports = require('path');
