// restsrv test runs this file with a database of its own, which has the objects of
// deploy.json.

test('tasks that are done are left out', async () => {
  await dataRepo.createItem('task@app', { title: 'Buy tea', done: false });
  await dataRepo.createItem('task@app', { title: 'Boil water', done: true });
  const { status, json } = await request('GET', '/rest/tasks', { account: 'admin@local' });
  assert.equal(status, 200);
  assert.deepEqual(json, ['Change scripts/tasks.js', 'Buy tea']);
});
