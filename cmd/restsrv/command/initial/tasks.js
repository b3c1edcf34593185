// The service /rest/tasks. What a handler returns is sent as JSON. With -watch, each
// change is live when you save it.

/** @type {restsrv.Routes} */
module.exports = {
  // The titles of all tasks that are not done.
  'GET /': async () => {
    const open = await dataRepo.getList('task@app', { filter: { done: { $ne: true } } });
    return open.map((task) => task.title);
  },
};
