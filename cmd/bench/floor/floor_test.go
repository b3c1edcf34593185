package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestFloor sends a request to every path. The answers must be those of the real server, since
// otherwise the comparison would be wrong.
func TestFloor(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { testFloor(t, filepath.Join(t.TempDir(), "floor.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { testFloor(t, pgtest.Database(t)) })
}

func testFloor(t *testing.T, db string) {
	ctx := context.Background()
	n, err := openNotes(ctx, db, "normal")
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	pool, err := newRuntimes(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	h := newRoutes(ctx, n, pool)
	bulk := make([]string, 0, bulkRows+1) // one full statement and a single row
	for i := range bulkRows + 1 {
		id := string(rune('A'+i/100)) + string(rune('a'+i/10%10)) + string(rune('a'+i%10))
		bulk = append(bulk, `{"_id":"`+id+`","_class":"note@bench","_classVer":null,"title":"t","group":"g`+id[:1]+`","body":"b"}`)
	}
	const first = `{"id":"Aaa","title":"t","group":"gA","body":"b"}`
	for _, c := range []struct {
		ask, body, want string
		items           int
	}{
		{ask: "POST /rest/acceptor", body: "[" + strings.Join(bulk, ",") + "]", want: `{"_id":"Aaa","_class":"note@bench","_classVer":"","id":"Aaa",`, items: bulkRows + 1},
		{ask: "POST /rest/acceptor", body: "[" + bulk[0] + "]", want: `"_id":"Aaa"`, items: 1},
		{ask: "GET /rest/crud/note@bench/Aaa", want: first, items: 1},
		{ask: "GET /rest/crud/note@bench/", want: first, items: 5},
		{ask: "GET /rest/crud/note@bench/?_count=1000", want: first, items: bulkRows + 1},
		{ask: "GET /rest/crud/note@bench/?_count=20&group=gC", want: `"id":"Caa"`, items: 20},
		{ask: "PATCH /rest/crud/note@bench/Aaa", body: `{"title":"new","body":"text"}`, want: `{"id":"Aaa","title":"new","group":"gA","body":"text"}`, items: 1},
		{ask: "GET /rest/query?group=gB", want: `{"id":"Baa","title":"t","group":"gB","body":"b"}`, items: 20},
		{ask: "GET /rest/hello?name=Ada", want: `{"message":"hello, Ada"}`},
		{ask: "GET /rest/static", want: `{"echo":"peekaboo"}`},
	} {
		method, path, _ := strings.Cut(c.ask, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(c.body)))
		got := w.Body.String()
		if w.Code != 200 || !strings.Contains(got, c.want) || strings.Count(got, `"id":`) != c.items {
			t.Errorf("%s: status %d, %d items, expected %d with %s:\n%.300s", c.ask, w.Code, strings.Count(got, `"id":`), c.items, c.want, got)
		}
	}
}
