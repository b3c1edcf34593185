// The base class of services. addHandler only records a route; route(router)
// is what the server calls, _route(router) is what a service writes.
(function (addHandler) {
  'use strict';
  function Service() {}
  Service.prototype.addHandler = addHandler;
  Service.prototype.route = function (router) {
    if (typeof this._route !== 'function') {
      throw new TypeError('the service has no method _route(router)');
    }
    return this._route(router);
  };
  return Service;
})
