// restsrv test runs this file against a database of its own, with the objects of
// deploy.json in it.
const assert = require('assert');

const list = (form) => request('POST', '/rest/string-list', { account: 'admin@local', form });

test('all objects are listed without attributes', async () => {
  const { status, json } = await list({});
  assert.equal(status, 200);
  assert.equal(json.length, await dataRepo.getCount('note@sample'));
});

test('each attribute must be equal', async () => {
  await dataRepo.createItem('note@sample', { id: 'n1', title: 'Tea', text: 'green' });
  const { json } = await list({ title: 'Tea', text: 'green' });
  assert.deepEqual(json.map((note) => note.id), ['n1']);
  assert.deepEqual((await list({ title: 'Tea', text: 'black' })).json, []);
});

test('whoever has no permission gets an empty list', async () => {
  await addAccount('ann@local');
  assert.deepEqual((await asAccount('ann@local')('POST', '/rest/string-list')).json, []);
});
