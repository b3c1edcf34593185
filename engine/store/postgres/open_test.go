package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"restsrv/engine/store/postgres"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/sqldb"
)

// TestOpenErrors tries to open databases that cannot be opened. The errors must not contain the password.
func TestOpenErrors(t *testing.T) {
	good := pgtest.Database(t)
	change := func(f func(u *url.URL)) string {
		u, err := url.Parse(good)
		if err != nil {
			t.Skipf("the server is not named by a URL: %v", err)
		}
		f(u)
		return u.String()
	}
	pgtest.Execute(t, good, "CREATE ROLE poor_"+name(good)+" LOGIN PASSWORD 'secret'")
	t.Cleanup(func() { pgtest.Execute(t, good, "DROP ROLE poor_"+name(good)) })
	latin := name(good) + "_latin"
	pgtest.Execute(t, good, "CREATE DATABASE "+latin+" TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'")
	t.Cleanup(func() { pgtest.Execute(t, good, "DROP DATABASE "+latin) })
	for what, test := range map[string]struct {
		url  string
		pool int
		want error
		says string
	}{
		"not a URL":          {"postgres://u:secret@[/x", 0, postgres.ErrAddress, "%XX"},
		"a bad port":         {"postgres://u:secret@h:port/x", 0, postgres.ErrAddress, "%XX"},
		"a bad parameter":    {"postgres://u:secret@h/x?sslmode=sometimes", 0, postgres.ErrAddress, "sslmode"},
		"no such server":     {"postgres://u:secret@127.0.0.1:1/x", 0, postgres.ErrAway, "refused"},
		"no such database":   {change(func(u *url.URL) { u.Path = "/nowhere"; u.User = url.UserPassword("postgres", "secret") }), 0, postgres.ErrAway, "nowhere"},
		"no such user":       {change(func(u *url.URL) { u.User = url.UserPassword("nobody", "secret") }), 0, postgres.ErrAway, "nobody"},
		"may not make":       {change(func(u *url.URL) { u.User = url.UserPassword("poor_"+name(good), "secret") }), 0, postgres.ErrUnfit, "GRANT CREATE ON SCHEMA public"},
		"another encoding":   {change(func(u *url.URL) { u.Path = "/" + latin }), 0, postgres.ErrUnfit, "UTF8"},
		"no schema":          {good + "&search_path=nowhere", 0, postgres.ErrUnfit, "search_path"},
		"one connection":     {good, 1, postgres.ErrAddress, "pool"},
		"too many of them":   {good, postgres.MaxPool + 1, postgres.ErrAddress, "pool"},
		"TLS where is none":  {change(func(u *url.URL) { u.RawQuery = "host=127.0.0.1&port=1&sslmode=require" }), 0, postgres.ErrAway, ""},
		"a host of no name":  {"postgres://u:secret@name.invalid/x", 0, postgres.ErrAway, ""},
		"another SQL server": {"mysql://u:secret@h/x", 0, postgres.ErrAddress, "postgres://"},
	} {
		t.Run(what, func(t *testing.T) {
			db, err := postgres.Open(t.Context(), postgres.Config{URL: test.url, Pool: test.pool})
			if err == nil {
				db.Write.Close()
				t.Fatalf("the database was opened, want an error with %q", test.says)
			}
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %v and %q", err, test.want, test.says)
			}
		})
	}
}

// name returns the name of the database in a URL.
func name(address string) string {
	u, _ := url.Parse(address)
	return strings.TrimPrefix(u.Path, "/")
}

// TestOpenSeveralHosts opens a database with several hosts: one is down, one is read-only, and one is usable. Open
// must choose the usable one.
func TestOpenSeveralHosts(t *testing.T) {
	reads, writes := pgtest.NewServer(t, "default_transaction_read_only=on"), pgtest.NewServer(t)
	socket := func(s *pgtest.Server) string {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return url.QueryEscape(u.Query().Get("host"))
	}
	address := "postgres://postgres:secret@127.0.0.1:1,[::1]:1," + socket(reads) + ":5432," + socket(writes) + "/postgres?target_session_attrs=read-write"
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address})
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	defer db.Write.Close()
	if _, err := db.Write.ExecContext(t.Context(), "CREATE TABLE made (n int)"); err != nil {
		t.Errorf("the server that was found cannot be written: %v", err)
	}
	writes.Kill()
	for range 100 { // the server may accept connections only after the previous ones are gone
		if _, err = db.Write.ExecContext(t.Context(), "INSERT INTO made VALUES (1)"); db.Dialect.Classify(err) != sqldb.Away {
			t.Fatalf("without a server that writes: got %v, classified as %v, want %v", err, db.Dialect.Classify(err), sqldb.Away)
		}
	}
	if err := writes.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Write.ExecContext(t.Context(), "INSERT INTO made VALUES (1)"); err != nil {
		t.Errorf("a write after the server has returned: %v", err)
	}
	writes.Stop()
	_, err = postgres.Open(t.Context(), postgres.Config{URL: address})
	if !errors.Is(err, postgres.ErrAway) || strings.Contains(err.Error(), "secret") {
		t.Errorf("without a server that writes: got %v, want %v", err, postgres.ErrAway)
	}
}
