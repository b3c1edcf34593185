module.exports = {
  'GET /': async () => (await dataRepo.getList('publication@library', { sort: { title: 1 } })).map((one) => one.get('title')),
};
