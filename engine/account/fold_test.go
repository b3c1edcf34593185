package account_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
)

// TestLoginsInAnyCase checks that with the option CaseInsensitive a login is found in any letter
// case, that the caller is known by the stored name, and that an account with exactly the given
// login takes precedence. Without the option, only the exact login is found.
func TestLoginsInAnyCase(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		f.config.CaseInsensitive = true
		strict := f.Store
		f.Store = f.another()
		for _, id := range []string{"Ann@local", "Ärne@local", "Straße@local", "a.n@local"} {
			wantOK(t, id, f.Add(ctx, account.Account{ID: id}, password))
		}
		for given, want := range map[string]string{
			"Ann@local": "Ann@local", "ann@local": "Ann@local", "ANN@local": "Ann@local", "äRNE@local": "Ärne@local",
			"STRAẞE@local": "Straße@local", "ann@LOCAL": "", "a\u212an@local": "", "ÄRNE@locaL": "", "axn@local": "", "": "",
		} {
			for range 2 { // the second time, the password is cached
				a, err := f.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: given, Password: password})
				if want == "" {
					if err == nil {
						t.Errorf("%s is %s", given, a.ID)
					}
				} else if err != nil || a.ID != want {
					t.Errorf("%s: %+v, %v; want %s", given, a, err, want)
				}
			}
		}
		wantCode(t, "wrong password", signIn(f.Store, "ANN@local", "x"), engine.Unauthenticated)
		wantCode(t, "without the option", signIn(strict, "ann@local", password), engine.Unauthenticated)
		wantOK(t, "without the option", signIn(strict, "Ann@local", password))
		a, err := f.Authenticate(ctx, engine.AuthPwd, engine.Credentials{User: "ANN", Type: "local", Password: password})
		if err != nil || a.ID != "Ann@local" {
			t.Errorf("the type given apart: %+v, %v", a, err)
		}
	})
}

// TestAnotherSpelling checks that a cached spelling becomes void when its account changes, and
// when the spelling starts to match another account or several. This takes effect at once in this
// process, and within a second in others.
func TestAnotherSpelling(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		f.config.CaseInsensitive = true
		f.Store = f.another()
		other := f.another()
		wantOK(t, "add", f.Add(ctx, account.Account{ID: "ann@local"}, password))
		both := func(what, user, password string, check func(what string, err error)) {
			t.Helper()
			check(what+" here", signIn(f.Store, user, password))
			f.clock.Advance(time.Second)
			check(what+" elsewhere", signIn(other, user, password))
		}
		ok := func(what string, err error) { t.Helper(); wantOK(t, what, err) }
		refused := func(what string, err error) { t.Helper(); wantCode(t, what, err, engine.Unauthenticated) }
		both("one", "ANN@local", password, ok)
		both("the other", "Ann@local", password, ok)
		wantOK(t, "an account of that spelling", f.Add(ctx, account.Account{ID: "ANN@local"}, "another"))
		both("exact", "ANN@local", "another", ok)
		both("the former", "ANN@local", password, refused)
		both("one of two", "Ann@local", password, refused)
		both("exact", "ann@local", password, ok)
		wantOK(t, "password", f.SetPassword(ctx, "ann@local", "new"))
		both("old password", "ann@local", password, refused)
		both("new password", "ann@local", "new", ok)
		wantOK(t, "disable", f.Disable(ctx, "ann@local"))
		both("disabled", "ann@local", "new", refused)
	})
}

// TestLoginsOfOlderVersions checks that an account is found in any letter case even if an older
// version stored it without a folded name.
func TestLoginsOfOlderVersions(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		f.config.CaseInsensitive = true
		f.Store = f.another()
		for _, id := range []string{"Ann@local", "Bob@local"} {
			wantOK(t, "add", f.Add(ctx, account.Account{ID: id}, password))
			f.put(id, map[string]any{"folded": nil})
		}
		wantOK(t, "ann", signIn(f.Store, "ANN@local", password))
		wantOK(t, "bob", signIn(f.Store, "bob@local", password))
		it, err := f.data.Repository.Get(ctx, f.class("#account"), "Bob@local")
		if err != nil || it.Get("folded") == nil {
			t.Errorf("the account was not prepared: %v", err)
		}
	})
}

// TestGuessesOfAllSpellings checks that all spellings of a login share one count of failed
// attempts, and that the audit log has the stored spelling if the password was right.
func TestGuessesOfAllSpellings(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		counted, told := &names{}, &audit{}
		f.config.CaseInsensitive, f.config.Guesses, f.config.Audit = true, counted, told
		f.Store = f.another()
		wantOK(t, "add", f.Add(context.Background(), account.Account{ID: "Ann@local"}, password))
		for _, user := range []string{"ANN@local", "ann@local", "Ann@local"} {
			wantCode(t, user, signIn(f.Store, user, "wrong"), engine.Unauthenticated)
		}
		wantOK(t, "right", signIn(f.Store, "aNN@local", password))
		if !slices.Equal(counted.failed, []string{"ANN@local", "ANN@local", "ANN@local"}) || !slices.Equal(counted.succeeded, []string{"ANN@local"}) {
			t.Errorf("failed %q, succeeded %q", counted.failed, counted.succeeded)
		}
		if e := told.events[len(told.events)-1]; e.Kind != engine.SignedIn || e.Account != "Ann@local" {
			t.Errorf("told %+v", e)
		}
	})
}

// names records the accounts of counted guesses.
type names struct{ failed, succeeded []string }

func (n *names) Admit(context.Context, string, engine.Caller) (time.Duration, error) { return 0, nil }

func (n *names) Failed(_ context.Context, account string, _ engine.Caller) {
	n.failed = append(n.failed, account)
}

func (n *names) Succeeded(_ context.Context, account string, _ engine.Caller) {
	n.succeeded = append(n.succeeded, account)
}
