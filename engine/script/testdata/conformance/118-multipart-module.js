// feature: modules/rest/backend/multipart and util
// group: module
const { probe } = require('./check.js');

const multipart = require('modules/rest/backend/multipart');

module.exports = probe(async ({ is }, req) => {
  is(typeof multipart, 'function');
  is((await multipart(req)) === req.body, true);
  is(require('@iondv/rest/backend/util') === require('modules/rest/backend/util'), true);
});
