// tty: no stream is a terminal.
exports.isatty = () => false;
