// A service in the short form that reads its request. req contains the whole request: params,
// query, body, headers and user.
module.exports = {
  // GET /rest/simple?name=Ann
  'GET /': (req) => ({ hello: req.query.name || req.user.name() }),

  // POST /rest/simple with a JSON body or a form: the answer shows it
  'POST /': (req) => ({ hello: req.user.name(), received: req.body }),

  // GET /rest/simple/<id of a note> returns only the title of the note. The functions of the
  // repository return promises, so await them. If you throw an error with a code, its status is the
  // status of the response.
  'GET /:id': async (req) => {
    const note = await dataRepo.getItem('note@sample', req.params.id);
    if (!note) {
      throw Object.assign(new Error('there is no such note'), { code: 404 });
    }
    return { title: note.get('title') };
  },
};
