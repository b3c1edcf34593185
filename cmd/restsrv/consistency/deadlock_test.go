package consistency

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

const deadlockApplication = `{"namespace": "s",
 "classes": [{"name": "account", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "n", "type": "int"}]}],
 "objects": [{"_class": "account@s", "id": "a", "n": 0}, {"_class": "account@s", "id": "b", "n": 0}, {"_class": "account@s", "id": "c", "n": 0}],
 "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "script": {"module": "script.js"}}, "authMode": {"crud": "none", "script": "none"}}}}}`

const deadlockScript = `
const add = async (tx) => {
  const ids = ['a', 'b', 'c'].sort(() => Math.random() - 0.5).slice(0, 2);
  for (const id of ids) await tx.editItem('account@s', id, {n: (await tx.getItem('account@s', id)).n + 1});
};
module.exports = {
  'POST /once': () => dataRepo.transaction(add),
  'POST /again': () => dataRepo.transaction(add, {attempts: 20}),
  'POST /wrong': () => dataRepo.transaction(add, {attempts: 'x'}),
  'GET /': async () => (await dataRepo.getList('account@s')).reduce((sum, it) => sum + it.n, 0),
};`

// TestScriptDeadlocks runs transactions of scripts that change the same objects in random order.
// If two transactions conflict, one of them is rolled back. It is called again if the script asks
// for this, and otherwise answered with 503 at once.
func TestScriptDeadlocks(t *testing.T) {
	t.Parallel()
	c := apptest.NewOpenCase(t, pgtest.Database(t))
	c.WriteFile("deploy.json", deadlockApplication)
	c.WriteFile("script.js", deadlockScript)
	t.Cleanup(c.StopServer)
	c.StartServer()
	const clients, each = 6, 12
	done := 0
	for _, mode := range []string{"once", "again"} {
		var good, busy atomic.Int64
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range each {
					status, took, again := timed(c, http.DefaultClient, "POST /rest/script/"+mode+" {}")
					switch {
					case status == 200:
						good.Add(1)
					case status == 503 && again != "":
						busy.Add(1)
					default:
						t.Errorf("%s: got %d in %v, Retry-After %q, want 200, or 503 with Retry-After", mode, status, took, again)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%s: %d done, %d undone", mode, good.Load(), busy.Load())
		if good.Load() == 0 || mode == "again" && busy.Load() > 0 {
			t.Errorf("%s: got %d committed transactions and %d that were rolled back, want some committed", mode, good.Load(), busy.Load())
		}
		done += int(good.Load())
		if _, sum := c.Ask("GET", "/rest/script", ""); sum != fmt.Sprint(2*done) {
			t.Errorf("%s: the sum is %s after %d transactions, want %d", mode, sum, done, 2*done)
		}
	}
	if resp, body := c.Ask("POST", "/rest/script/wrong", "{}"); resp.StatusCode == 200 {
		t.Errorf("attempts that are not a number: got 200 %s, want an error", body)
	}
}
