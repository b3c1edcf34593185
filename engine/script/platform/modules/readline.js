// readline: the module with promises.
Object.defineProperty(exports, 'promises', { get: () => require('readline/promises'), enumerable: true, configurable: true });
