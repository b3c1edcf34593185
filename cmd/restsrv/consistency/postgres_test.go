package consistency

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine/store/postgres/pgtest"
)

const sharedApp = `{
  "namespace": "shared",
  "classes": [{"name": "part", "key": ["id"], "properties": [
    {"name": "id", "type": "guid", "autoassigned": true}, {"name": "n", "type": "int", "unique": true}, {"name": "batch", "type": "string", "indexed": true}]}],
  "objects": [{"_class": "part@shared", "id": "first"}],
  "modules": {"rest": {"globals": {"authMode": {"open": "none"}, "di": {
    "open": {"module": "builtin/crud"}, "crud": {"module": "builtin/crud"},
    "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}}}}}}
}`

// TestTwoServers starts two servers concurrently on one empty database. Both must work, and each
// server must see the objects that the other server stores. If clients create a thousand objects
// concurrently, there must be a thousand afterwards. A new password must take effect on both
// servers within a second.
func TestTwoServers(t *testing.T) {
	url := pgtest.Database(t)
	var servers []*apptest.Process
	for range 2 {
		servers = append(servers, apptest.Launch(t, apptest.WriteApplication(t, map[string]string{"deploy.json": sharedApp}), "-db", url))
	}
	for _, p := range servers {
		p.Await(t)
	}
	apptest.MustRun(t, "acl", "grant", "-config", filepath.Join(servers[0].Cmd.Dir, "deploy.json"), "-db", url, "anonymous", "c:::part@shared", "read", "use")
	for i, p := range servers {
		if status, body, err := p.Request("GET", "/rest/crud/part@shared?_count=10", "", ""); err != nil || status != 200 || strings.Count(body, `"_id"`) != 1 {
			t.Errorf("server %d: want the one object of deploy.json, got %d %q, %v\n%s", i, status, body, err, p.Log())
		}
	}
	thousand(t, servers)
	config := filepath.Join(servers[0].Cmd.Dir, "deploy.json")
	var out apptest.Buffer
	s := command.Stdio{In: strings.NewReader("another\n"), Out: &out, Err: &out, Env: func(string) string { return "" }}
	if err := command.Run(context.Background(), []string{"user", "passwd", "-force", "admin@local", "-config", config, "-db", url}, s); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	time.Sleep(time.Second)
	for i, p := range servers {
		if status, _, err := p.Request("GET", "/rest/crud/part@shared", "", ""); err != nil || status != 401 {
			t.Errorf("server %d with the old password: got %d, %v, want 401", i, status, err)
		}
	}
}

// thousand creates a thousand objects concurrently, half of them through each server. Every tenth
// request fails because its number exists already.
func thousand(t *testing.T, servers []*apptest.Process) {
	t.Helper()
	var wg sync.WaitGroup
	var made, refused atomic.Int64
	for i := range 1000 {
		wg.Go(func() {
			n := i
			if i%10 == 9 {
				n = i - 1
			}
			status, body, err := servers[i%2].Request("POST", "/rest/open/part@shared", "application/json", fmt.Sprintf(`{"n":%d,"batch":"thousand"}`, n))
			switch {
			case err != nil:
				t.Error(err)
			case status == 200:
				made.Add(1)
			case status == 400 && strings.Contains(body, `"duplicate"`):
				refused.Add(1)
			default:
				t.Errorf("object %d: got %d %q, want 200 or a duplicate", i, status, body)
			}
		})
	}
	wg.Wait()
	if made.Load() != 900 || refused.Load() != 100 {
		t.Errorf("%d were made and %d refused, want 900 and 100", made.Load(), refused.Load())
	}
	for i, p := range servers {
		_, body, err := p.Request("GET", "/rest/crud/part@shared?_count=1000&batch=thousand", "", "")
		if n := strings.Count(body, `"_id"`); err != nil || n != 900 {
			t.Errorf("server %d: got %d objects, %v, want 900", i, n, err)
		}
	}
}
