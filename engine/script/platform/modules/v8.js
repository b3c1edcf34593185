// v8: the parts without an engine.
exports.promiseHooks = {};
exports.startupSnapshot = { isBuildingSnapshot: () => false };
