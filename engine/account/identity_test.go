package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
)

// who signs in and returns the account.
func who(t *testing.T, s *account.Store, user, password string) *engine.Account {
	t.Helper()
	a, err := s.Authenticate(context.Background(), engine.AuthPwd, engine.Credentials{User: user, Password: password})
	if err != nil {
		t.Fatalf("%s: %v", user, err)
	}
	return a
}

// TestRoles checks that a change of roles takes effect for passwords and tokens: at once in this
// process, and within a second in others.
func TestRoles(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx, told := context.Background(), &audit{}
		f.config.Audit = told
		f.Store = f.another()
		other := f.another()
		wantOK(t, "add", f.Add(ctx, account.Account{ID: "ann@local", Roles: []string{"a"}}, password))
		secret, _ := f.issue("ann@local", "", 0)
		tokened := func(s *account.Store) []string {
			a, err := s.Authenticate(ctx, engine.AuthToken, engine.Credentials{Token: secret})
			if err != nil {
				t.Fatal(err)
			}
			return a.Roles
		}
		for _, s := range []*account.Store{f.Store, other} {
			if a := who(t, s, "ann@local", password); !slices.Equal(a.Roles, []string{"a"}) || !slices.Equal(tokened(s), a.Roles) {
				t.Fatalf("roles %q", a.Roles)
			}
		}
		steps := []struct {
			what    string
			do      func() (bool, error)
			changed bool
			want    []string
		}{
			{"add", func() (bool, error) { return f.AddRole(ctx, "ann@local", "b") }, true, []string{"a", "b"}},
			{"add again", func() (bool, error) { return f.AddRole(ctx, "ann@local", "b") }, false, []string{"a", "b"}},
			{"remove", func() (bool, error) { return f.RemoveRole(ctx, "ann@local", "a") }, true, []string{"b"}},
			{"remove again", func() (bool, error) { return f.RemoveRole(ctx, "ann@local", "a") }, false, []string{"b"}},
			{"set", func() (bool, error) { return true, f.SetRoles(ctx, "ann@local", []string{"x", "y", "x"}) }, true, []string{"x", "y"}},
			{"none", func() (bool, error) { return true, f.SetRoles(ctx, "ann@local", nil) }, true, nil},
		}
		for _, step := range steps {
			if changed, err := step.do(); err != nil || changed != step.changed {
				t.Errorf("%s: %t, %v", step.what, changed, err)
			}
			if a := who(t, f.Store, "ann@local", password); !slices.Equal(a.Roles, step.want) || !slices.Equal(tokened(f.Store), step.want) {
				t.Errorf("%s: %q here, %q by token", step.what, a.Roles, tokened(f.Store))
			}
			f.clock.Advance(time.Second)
			if a := who(t, other, "ann@local", password); !slices.Equal(a.Roles, step.want) || !slices.Equal(tokened(other), step.want) {
				t.Errorf("%s: %q elsewhere, %q by token", step.what, a.Roles, tokened(other))
			}
		}
		told.events = slices.DeleteFunc(told.events, func(e engine.Event) bool { return e.Kind == engine.SignedIn })
		if len(told.events) != 5 || told.events[1].Kind != engine.AccountChanged {
			t.Errorf("told %+v", told.events)
		}
		wantCode(t, "nobody", f.SetRoles(ctx, "bob@local", nil), engine.NotFound)
		for _, role := range []string{"", "*", " x", "a\nb", "bob@local"} {
			_, err := f.AddRole(ctx, "ann@local", role)
			wantCode(t, "role "+role, err, engine.Invalid)
		}
	})
}

// TestRolesOfManyAtOnce checks that no concurrent change of roles is lost.
func TestRolesOfManyAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		wantOK(t, "add", f.Add(context.Background(), account.Account{ID: "ann@local"}, password))
		var wg sync.WaitGroup
		for _, role := range []string{"a", "b", "c"} {
			wg.Go(func() {
				if changed, err := f.AddRole(context.Background(), "ann@local", role); err != nil || !changed {
					t.Errorf("%t, %v", changed, err)
				}
			})
		}
		wg.Wait()
		if a, err := f.Get(context.Background(), "ann@local"); err != nil || len(a.Roles) != 3 {
			t.Errorf("roles %q, %v", a.Roles, err)
		}
	})
}

func TestProperties(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		given := engine.Fields{{Name: "oauth", Value: engine.Fields{{Name: "grants", Value: []any{"refresh_token"}}}}, {Name: "n", Value: json.Number("1.50")}}
		wantOK(t, "add", f.Add(ctx, account.Account{ID: "ext@system", Properties: given}, password))
		a := who(t, f.Store, "ext@system", password)
		if text := string(engine.AppendValue(nil, a.Properties)); text != `{"oauth":{"grants":["refresh_token"]},"n":1.50}` {
			t.Errorf("properties %s", text)
		}
		wantOK(t, "set", f.SetProperties(ctx, "ext@system", engine.Fields{{Name: "n", Value: nil}}))
		if a = who(t, f.Store, "ext@system", password); len(a.Properties) != 1 {
			t.Errorf("properties %+v", a.Properties)
		}
		wantOK(t, "clear", f.SetProperties(ctx, "ext@system", nil))
		if a, err := f.Get(ctx, "ext@system"); err != nil || a.Properties != nil {
			t.Errorf("properties %+v, %v", a.Properties, err)
		}
		wantCode(t, "nobody", f.SetProperties(ctx, "x@system", nil), engine.NotFound)
	})
}

// TestEnrich checks that the data from Config.Enrich are at most half a second old, that accounts
// which were returned before do not change, and that authentication fails while Enrich fails.
func TestEnrich(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		coactors, failure, calls := []string{"team1"}, error(nil), 0
		f.config.Enrich = func(ctx context.Context, a *engine.Account) error {
			calls++
			a.Coactors = coactors
			return errors.Join(failure, serverOnly(ctx))
		}
		f.Store = f.another()
		f.add("ann@local")
		secret, _ := f.issue("ann@local", "", 0)
		credentials := map[engine.AuthMode]engine.Credentials{
			engine.AuthPwd:   {User: "ann@local", Password: password},
			engine.AuthToken: {Token: secret},
		}
		for mode, c := range credentials {
			coactors, calls = []string{"team1"}, 0
			asking := engine.WithAccount(ctx, engine.Anonymous)
			first, err := f.Authenticate(asking, mode, c)
			if err != nil || !slices.Equal(first.Coactors, coactors) {
				t.Fatalf("%s: %+v, %v", mode, first, err)
			}
			coactors = []string{"team2"}
			f.clock.Advance(499 * time.Millisecond)
			if again, err := f.Authenticate(asking, mode, c); err != nil || again != first || calls != 1 {
				t.Errorf("%s: %+v, %v after %d calls", mode, again, err, calls)
			}
			f.clock.Advance(time.Millisecond)
			if again, err := f.Authenticate(asking, mode, c); err != nil || !slices.Equal(again.Coactors, coactors) || calls != 2 || first.Coactors[0] != "team1" {
				t.Errorf("%s: %+v, %v after %d calls", mode, again, err, calls)
			}
			failure = errors.New("the class is broken")
			f.clock.Advance(time.Second)
			_, err = f.Authenticate(asking, mode, c)
			wantCode(t, string(mode)+" fails", err, engine.Unavailable)
			var e *engine.Error
			if !errors.As(err, &e) || e.Message == failure.Error() || !errors.Is(err, failure) {
				t.Errorf("%s: %v", mode, err)
			}
			failure = nil
			if again, err := f.Authenticate(asking, mode, c); err != nil || !again.Is("team2") {
				t.Errorf("%s: %+v, %v", mode, again, err)
			}
		}
		failure = errors.New("broken from the start")
		fresh := f.another()
		wantCode(t, "fails at first", signIn(fresh, "ann@local", password), engine.Unavailable)
	})
}
