// Answers the titles of all notes that the account may read.
module.exports = {
  'GET /': async () => {
    const notes = await dataRepo.getList('note@example', { sort: { id: 1 } });
    return notes.map((note) => note.get('title'));
  },
};
