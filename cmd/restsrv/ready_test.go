package main

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine/store/postgres/pgtest"
)

// TestReadyWithoutDatabase stops the database under a server: it is alive, not
// ready, says why, and is ready again when the database is back.
func TestReadyWithoutDatabase(t *testing.T) {
	database := pgtest.NewServer(t)
	p := start(t, application(t, map[string]string{"deploy.json": batchApp}), "-db", database.URL)
	expect := func(path string, status int, text string) {
		t.Helper()
		var got int
		var body string
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			var err error
			if got, body, err = p.request("GET", path, "", ""); err != nil {
				t.Fatal(err)
			}
			if got == status && strings.Contains(body, text) {
				return
			}
		}
		t.Errorf("%s: got %d %q, want %d %q", path, got, body, status, text)
	}
	expect("/readyz", 200, "ok")
	database.Stop()
	expect("/readyz", 503, "the database is not available")
	expect("/livez", 200, "ok")
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	expect("/readyz", 200, "ok")
}
