// The smallest service of develop-and-test.
const Service = require('modules/rest/lib/interfaces/Service');

function SimpleRest() {
  this._route = function (router) {
    this.addHandler(router, '/', 'GET', () => Promise.resolve({ yohoho: 'And a bottle of rum!' }));
  };
}

SimpleRest.prototype = new Service();
module.exports = SimpleRest;
