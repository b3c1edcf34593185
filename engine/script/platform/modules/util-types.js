// util/types: a part of util.
module.exports = require('util').types;
