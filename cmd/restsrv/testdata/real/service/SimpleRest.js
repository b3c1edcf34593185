// The smallest service of develop-and-test: the same object for GET and POST.
const Service = require('modules/rest/lib/interfaces/Service');

function SimpleRest() {
  this._route = function (router) {
    for (const method of ['GET', 'POST']) {
      this.addHandler(router, '/', method, () => Promise.resolve({ result: 'ok' }));
    }
  };
}

SimpleRest.prototype = new Service();
module.exports = SimpleRest;
