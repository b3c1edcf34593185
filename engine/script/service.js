// The base class of services. this.options are the options that its constructor received. addHandler only
// registers a route. The server calls route(router), and a service implements _route(router). Services of IONDV's
// first version implement _handle(req) instead, which answers POST /.
(function (addHandler) {
  'use strict';
  function Service(options) {
    if (options !== undefined && !('options' in this)) this.options = options;
  }
  Service.prototype.addHandler = addHandler;
  Service.prototype.route = function (router) {
    if (typeof this._route === 'function') {
      return this._route(router);
    }
    if (typeof this._handle === 'function') {
      return this.addHandler(router, '/', 'POST', (req) => this._handle(req));
    }
    throw new TypeError('the service has no method _route(router)');
  };
  return Service;
})
