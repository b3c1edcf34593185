package oauth_test

import (
	"fmt"
	"testing"
	"time"

	"restsrv/engine"
)

// rows counts the stored items of a class.
func (f *fixture) rows(class string) (n int) {
	f.t.Helper()
	for _, c := range f.classes {
		if c.FullName != class {
			continue
		}
		err := f.data.List(f.t.Context(), &engine.Query{Class: c, Count: -1}, func(*engine.Item) error {
			n++
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return n
}

// refreshed exchanges a refresh token and returns the answer.
func (f *fixture) refreshed(refresh string) answer {
	f.t.Helper()
	return f.exchange("ext@system", "grant_type", "refresh_token", "refresh_token", refresh)
}

// TestExchangesLeaveNoRows checks that exchanged refresh tokens occupy no rows, and that the
// reuse of any of them still revokes the grant.
func TestExchangesLeaveNoRows(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, again := range []int{0, 7, 18} {
			_, refresh := f.tokens()
			used, access := []string{refresh}, ""
			for range 20 {
				a := f.refreshed(refresh)
				if a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
				refresh, access = a.text("refresh_token"), a.text("access_token")
				used = append(used, refresh)
			}
			if got := f.rows("#oauth-spent"); got != 0 {
				t.Errorf("got %d rows after 20 exchanges, want none", got)
			}
			wantHolds(t, "before the reuse", f.Provider, access, true)
			wantError(t, "a used token", f.refreshed(used[again]), 400, "invalid_grant")
			wantHolds(t, "after the reuse", f.Provider, access, false)
			wantError(t, "the last token", f.refreshed(refresh), 400, "invalid_grant")
		}
		if got := f.record.count(engine.TokenReused); got != 3 {
			t.Errorf("got %d events of reuse, want 3", got)
		}
	})
}

// TestGrantsOfOlderVersions checks a refresh token of an older version, which has no family: it
// can be exchanged once, and its reuse revokes the grant.
func TestGrantsOfOlderVersions(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		_, first := f.tokens()
		grants := f.classes[0]
		q := &engine.Query{Class: grants, Count: -1}
		if _, err := f.data.UpdateAll(t.Context(), q, engine.ValuesOf(grants, engine.Named("family", nil))); err != nil {
			t.Fatal(err)
		}
		a := f.refreshed(first)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if a = f.refreshed(a.text("refresh_token")); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if got := f.rows("#oauth-spent"); got != 1 {
			t.Errorf("got %d rows of exchanged tokens, want 1: that of the older version", got)
		}
		wantError(t, "the first token again", f.refreshed(first), 400, "invalid_grant")
		wantHolds(t, "after the reuse", f.Provider, a.text("access_token"), false)
	})
}

// TestGrantsAreBounded checks the maximum number of grants, which include codes: for one account
// and for all accounts. When the total is exceeded, the account with the most grants loses its
// oldest grant.
func TestGrantsAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.options.GrantsPerAccount, f.options.GrantsOfAll = 3, 4
		f.Provider = f.another()
		access, _ := f.tokens()
		for i := range 10 {
			f.clock.Advance(time.Second)
			if i == 1 {
				wantHolds(t, "with two codes after it", f.Provider, access, true)
			}
			f.code("ext@system")
			if got := f.rows("#oauth-grant"); got > 3 {
				t.Fatalf("got %d grants of an account, want at most 3", got)
			}
		}
		wantHolds(t, "with ten codes after it", f.another(), access, false)
		for i := range 3 {
			f.clock.Advance(time.Second)
			if a := f.exchange("app@system", "grant_type", "client_credentials"); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if got := f.rows("#oauth-grant"); got > 4 {
				t.Errorf("got %d grants after %s, want at most 4", got, fmt.Sprint(i+1))
			}
		}
	})
}
