package script

import (
	"testing"

	"restsrv/engine/script/limits"
)

// TestMethods checks that functions that are created on first use behave like
// existing ones. Only a replacement by a script is enumerable.
func TestMethods(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 1)
	g := a.load(`
		const was = console.log;
		console.log = () => 'mine';
		module.exports = {'GET /': async (req) => {
			const [item] = await dataRepo.getList('note@demo');
			const own = () => 'own';
			dataRepo.getCount = own;
			const all = [
				'getItem' in dataRepo, typeof dataRepo.getItem, dataRepo.getItem === dataRepo.getItem, dataRepo.getItem.name,
				dataRepo.getCount === own, typeof dataRepo.nothing, Object.keys(dataRepo).join(),
				item.get('title'), Object.keys(item).join(), item.getItemId === item.getItemId, 'getItemId' in item,
				req.get('Host'), typeof req.is, console.log(), typeof was, String(req.user.id()), req.user.toString(),
				typeof dataRepo.hasOwnProperty, dataRepo.valueOf() === dataRepo,
			];
			delete dataRepo.getCount;
			return [...all, await dataRepo.getCount('note@demo')];
		}}`)
	expect(t, answer(send(t, g, request{account: ann})), jsonType+
		`[true,"function",true,"getItem",true,"undefined","getCount","note 0","id,base",true,true,"example.org:8888","function","mine","function",`+
		`"ann@local","ann@local","function",true,1]`)
}
