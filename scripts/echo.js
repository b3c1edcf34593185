// The smallest service in the short form: routes and their handlers.
// What a handler returns is sent as JSON. With -watch, save a change here and
// the next request answers with it.
module.exports = {
  'GET /': () => ({ echo: 'peekaboo' }),
  'POST /': () => ({ echo: 'peekaboo' }),
};
