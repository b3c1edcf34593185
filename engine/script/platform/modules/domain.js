// domain: there is none.
exports.active = null;
