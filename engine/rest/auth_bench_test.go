package rest

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
)

// BenchmarkAuthenticateBasic is what authentication adds to a request whose
// Basic credential was verified before: reading the header and recalling the
// account. Target: 3 microseconds.
func BenchmarkAuthenticateBasic(b *testing.B) {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(b.TempDir(), "test.db"), Synchronous: "normal"})
	if err != nil {
		b.Fatal(err)
	}
	classes := account.Classes()
	data, err := store.Open(ctx, db, store.Config{Classes: classes})
	if err != nil {
		b.Fatal(err)
	}
	defer data.Close()
	accounts, err := account.New(account.Config{Data: data, Classes: classes, Hasher: account.NewHasher(account.HasherConfig{})})
	if err != nil {
		b.Fatal(err)
	}
	if err := accounts.Add(ctx, account.Account{ID: "ann@local", Name: "Ann", Roles: []string{"staff"}}, "correct horse"); err != nil {
		b.Fatal(err)
	}
	s := New(Config{Auth: accounts, Log: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest("GET", "/rest/simple", nil)
	r.SetBasicAuth("ann@local", "correct horse")
	x := &exchange{caller: engine.Caller{Request: "r"}}
	b.ReportAllocs()
	for b.Loop() {
		a, err := s.account(r, engine.AuthPwd, x)
		if err != nil || a.ID != "ann@local" {
			b.Fatal(a, err)
		}
	}
}
