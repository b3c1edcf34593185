// feature: the base of services: restsrv, modules/rest/lib/interfaces/Service
// group: module
const { probe } = require('./check.js');

const Ours = require('restsrv').Service;
const Theirs = require('modules/rest/lib/interfaces/Service');
const Twin = require('@iondv/rest/lib/interfaces/Service');

module.exports = probe(({ is }) => {
  is([typeof Ours, typeof Theirs, Theirs === Twin], ['function', 'function', true]);
  is([typeof Ours.prototype.addHandler, typeof Theirs.prototype.addHandler], ['function', 'function']);
  function Old() {} Old.prototype = new Theirs();
  is(new Old() instanceof Theirs, true);
});
