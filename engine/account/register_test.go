package account_test

import (
	"context"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/service"
)

// TestRegister checks that registering creates an account without roles, by the
// rules for names and passwords, and records an event.
func TestRegister(t *testing.T) {
	ctx := engine.WithAccount(context.Background(), engine.Anonymous)
	f := newFixture(t)
	told := &audit{}
	f.config.Audit = told
	f.Store = f.another()
	a, err := f.Register(ctx, service.Registration{ID: "ann@local", Name: "Ann", Password: password, Properties: engine.Fields{{Name: "city", Value: "Oslo"}}})
	if err != nil || a.ID != "ann@local" || a.Name != "Ann" || len(a.Roles) != 0 || len(a.Properties) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	wantOK(t, "sign-in", signIn(f.Store, "ann@local", password))
	if e := told.events[0]; e.Kind != engine.AccountChanged || e.Account != "anonymous" {
		t.Errorf("told %+v", e)
	}
	for name, r := range map[string]service.Registration{
		"exists":         {ID: "ann@local", Password: "taken over"},
		"no type":        {ID: "bob", Password: password},
		"colon":          {ID: "b:b@local", Password: password},
		"line":           {ID: "bob@local", Name: "a\nb", Password: password},
		"empty password": {ID: "bob@local"},
		"short password": {ID: "bob@local", Password: "1234567"},
		"long password":  {ID: "bob@local", Password: strings.Repeat("x", account.MaxPassword+1)},
	} {
		_, err := f.Register(ctx, r)
		wantCode(t, name, err, engine.Invalid)
	}
	wantOK(t, "the password stays", signIn(f.Store, "ann@local", password))
	wantCode(t, "taken over", signIn(f.Store, "ann@local", "taken over"), engine.Unauthenticated)
}

// TestRegisterFoldsCase checks that another spelling of an existing login cannot be registered if
// the letter case of logins does not count.
func TestRegisterFoldsCase(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.config.CaseInsensitive = true
	f.Store = f.another()
	f.add("Ann@local")
	_, err := f.Register(ctx, service.Registration{ID: "aNN@local", Password: "taken over"})
	wantCode(t, "another spelling", err, engine.Invalid)
	_, err = f.Register(ctx, service.Registration{ID: "ann@system", Password: password})
	wantOK(t, "another type", err)
}

// TestProfile checks that a profile is the same as after a sign-in, and that an
// account that could not sign in has no profile.
func TestProfile(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	a, err := f.Profile(ctx, "ann@local")
	if err != nil || a.ID != "ann@local" || len(a.Roles) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	_, err = f.Profile(ctx, "ann@local")
	wantCode(t, "disabled", err, engine.NotFound)
	_, err = f.Profile(ctx, "nobody@local")
	wantCode(t, "unknown", err, engine.NotFound)
}
