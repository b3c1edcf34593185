package cost

import (
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// TestIdleServerIsStill checks that a server without requests does not access the database,
// neither while it runs nor when it ends. The background work for sessions, tokens, failed
// sign-ins, grants and events must not run without need.
func TestIdleServerIsStill(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); idleServer(t, "") })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); idleServer(t, pgtest.Database(t)) })
}

func idleServer(t *testing.T, db string) {
	c := apptest.NewCase(t, db)
	defer c.StopServer()
	c.WriteFile("deploy.json", `{
	  "globals": {"audit": true, "plugins": {"oauth": {"module": "builtin/oauth", "options": {"clients": [
	    {"id": "robot", "secret": "r0b0t", "grants": ["client_credentials"], "account": "admin@local"}]}}}},
	  "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}, "authMode": {"crud": "none"}}}},
	  "classes": [{"name": "note", "namespace": "s", "properties": [{"name": "title", "type": "string"}]}]
	}`)
	c.StartServer("-log", "debug")
	c.PlayHTTP(`> GET /rest/crud/note@s
< 200

> GET /rest/token
> Authorization: Basic {{base64 "admin@local:wrong"}}
< 401

> GET /rest/token
> Authorization: Basic {{base64 "admin@local:secret"}}
< 200

> POST /oauth2/token
> Authorization: Basic {{base64 "robot:r0b0t"}}
> Content-Type: application/x-www-form-urlencoded
>
> grant_type=client_credentials
< 200

> POST /auth
> Accept: application/json
> Content-Type: application/x-www-form-urlencoded
>
> username=admin&password=secret
< 200
`)
	const still = 2 * time.Second
	statements := func() int { return strings.Count(c.Output.String(), "msg=statement") }
	at, since := statements(), time.Now() // statements wait for the work that earlier requests have caused
	for begin := time.Now(); time.Since(since) < still; time.Sleep(50 * time.Millisecond) {
		if n := statements(); n != at {
			at, since = n, time.Now()
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal("an idle server sends statements all the time, want none:\n", c.Output.String())
		}
	}
	c.StopServer()
	if n := statements() - at; n > 0 {
		t.Errorf("the end of an idle server: got %d statements, want none:\n%s", n, c.Output.String())
	}
	c.StartServer("-log", "debug")
	at = statements()
	c.StopServer()
	if n := statements() - at; n > 0 {
		t.Errorf("the end of a server without requests: got %d statements, want none:\n%s", n, c.Output.String())
	}
}
