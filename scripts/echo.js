// The smallest service in the short form: routes and their handlers. The return value of a
// handler is sent as JSON. If the server runs with -watch and you save a change in this file, the
// next request uses it.
module.exports = {
  'GET /': () => ({ echo: 'peekaboo' }),
  'POST /': () => ({ echo: 'peekaboo' }),
};
