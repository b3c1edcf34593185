// process: the global.
module.exports = process;
