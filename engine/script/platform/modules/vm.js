// vm: no object is a context.
exports.isContext = () => false;
exports.constants = {};
