// modules/rest/backend/multipart: returns a promise of the body of a form, and of any other body in its parsed
// form.
'use strict';

module.exports = function multipart(req) {
  if (req === null || typeof req !== 'object') {
    throw new TypeError('multipart takes the request');
  }
  return Promise.resolve(req.body);
};
