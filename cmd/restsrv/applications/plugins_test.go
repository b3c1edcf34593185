package applications

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// TestRealApplicationGateway makes the same call as the tests of the application: a browser that
// has signed in reads /registry-ajax-api/rest/echo-token.
func TestRealApplicationGateway(t *testing.T) {
	t.Parallel()
	apptest.EachApplication(t, callGateway)
}

func callGateway(t *testing.T, app *apptest.Application) {
	dir := app.Complete(t)
	apptest.MustRun(t, "import", "-config", filepath.Join(dir, "deploy.json"), dir)
	p := apptest.Start(t, dir)
	defer p.Kill()
	jar := apptest.SignIn(t, p, "demo", "ion-demo")
	for _, c := range []struct{ method, body, want string }{
		{"GET", "", `{"echo":"peekaboo","by":"ext@system","body":{}}`},
		{"POST", `{"a":[1]}`, `{"echo":"peekaboo","by":"ext@system","body":{"a":[1]}}`},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), c.method, p.URL+app.Gateway+"/rest/echo-token", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.AddCookie(jar)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(body) != c.want {
			t.Errorf("%s: got %d %s, want 200 %s\n%s", c.method, resp.StatusCode, body, c.want, p.Log())
		}
	}
}
