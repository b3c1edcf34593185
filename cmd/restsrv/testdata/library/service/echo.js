const Service = require('modules/rest/lib/interfaces/Service');

function Echo() {
  this._route = function (router) {
    this.addHandler(router, '/', 'GET', (req) => Promise.resolve({ echo: 'peekaboo', by: req.user.id(), body: req.body }));
    this.addHandler(router, '/', 'POST', (req) => Promise.resolve({ echo: 'peekaboo', by: req.user.id(), body: req.body }));
  };
}
Echo.prototype = new Service();
module.exports = Echo;
