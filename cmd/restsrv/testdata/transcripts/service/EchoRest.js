// The echo services of develop-and-test, one for each mode: GET and POST answer
// the same.
const Service = require('modules/rest/lib/interfaces/Service');

function EchoRest() {
  this._route = function (router) {
    for (const method of ['POST', 'GET']) {
      this.addHandler(router, '/', method, () => Promise.resolve({ echo: 'peekaboo' }));
    }
  };
}

EchoRest.prototype = new Service();
module.exports = EchoRest;
