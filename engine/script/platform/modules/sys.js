// sys: the old name of util.
module.exports = require('util');
