// modules/rest/backend/multipart: a promise of the body of a form, and of any
// other body as it was parsed (interface.md, "Custom services" 6).
'use strict';

module.exports = function multipart(req) {
  if (req === null || typeof req !== 'object') {
    throw new TypeError('multipart takes the request');
  }
  return Promise.resolve(req.body);
};
