// The service /rest/tasks. The return value of a handler is sent as JSON. With -watch, a change
// takes effect as soon as you save the file.

/** @type {restsrv.Routes} */
module.exports = {
  // The titles of all tasks that are not done.
  'GET /': async () => {
    const open = await dataRepo.getList('task@app', { filter: { done: { $ne: true } } });
    return open.map((task) => task.title);
  },
};
