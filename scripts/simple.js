// A service in the short form that reads its request. Everything about the
// request is in req: params, query, body, headers and user.
module.exports = {
  // GET /rest/simple?name=Ann
  'GET /': (req) => ({ hello: req.query.name || req.user.name() }),

  // POST /rest/simple with a JSON body or a form: the answer shows it
  'POST /': (req) => ({ hello: req.user.name(), received: req.body }),

  // GET /rest/simple/<id of a note>: only its title. await what the repository
  // promises; throw an error with a code to answer with that status.
  'GET /:id': async (req) => {
    const note = await dataRepo.getItem('note@sample', req.params.id);
    if (!note) {
      throw Object.assign(new Error('there is no such note'), { code: 404 });
    }
    return { title: note.get('title') };
  },
};
