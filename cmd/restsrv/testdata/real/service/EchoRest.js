// The echo services of develop-and-test, one for each mode. What they answer
// besides the word says who called.
const Service = require('modules/rest/lib/interfaces/Service');

function EchoRest() {
  const answer = (req) => Promise.resolve({ echo: 'peekaboo', by: req.user.id(), body: req.body });

  this._route = function (router) {
    this.addHandler(router, '/', 'GET', answer);
    this.addHandler(router, '/', 'POST', answer);
  };
}

EchoRest.prototype = new Service();
module.exports = EchoRest;
