// The base class of services: this.options are what its constructor got. addHandler only records a route; route(router)
// is what the server calls, _route(router) is what a service writes. Services of
// the ancestor's first version write _handle(req) instead: it answers POST /.
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
