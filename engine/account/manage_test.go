package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
)

func TestAddGetList(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("bob@local")
	f.add("ann@system")
	a, err := f.Get(ctx, "bob@local")
	if err != nil || a.ID != "bob@local" || a.Name != "Name of bob@local" || len(a.Roles) != 2 || a.Disabled || !a.PasswordDate.Equal(f.clock.Now()) {
		t.Errorf("account %+v, %v", a, err)
	}
	all, err := f.List(ctx)
	if err != nil || len(all) != 2 || all[0].ID != "ann@system" || all[1].ID != "bob@local" {
		t.Errorf("accounts %+v, %v", all, err)
	}
	err = f.Add(ctx, account.Account{ID: "bob@local"}, "x")
	wantCode(t, "twice", err, engine.Invalid)
	if e := err.(*engine.Error); e.Reason != "duplicate" {
		t.Errorf("reason %q", e.Reason)
	}
	wantOK(t, "the first stays", signIn(f.Store, "bob@local", password))
	_, err = f.Get(ctx, "nobody@local")
	wantCode(t, "get", err, engine.NotFound)
	wantCode(t, "password", f.SetPassword(ctx, "nobody@local", "x"), engine.NotFound)
	wantCode(t, "disable", f.Disable(ctx, "nobody@local"), engine.NotFound)
	wantCode(t, "enable", f.Enable(ctx, "nobody@local"), engine.NotFound)
}

func TestAddRefuses(t *testing.T) {
	f := newFixture(t)
	bad := map[string]account.Account{
		"no type":     {ID: "bob"},
		"colon":       {ID: "b:b@local"},
		"two @":       {ID: "b@b@local"},
		"name":        {ID: "bob@local", Name: "a\tb"},
		"empty role":  {ID: "bob@local", Roles: []string{""}},
		"spaced role": {ID: "bob@local", Roles: []string{" a"}},
		"role":        {ID: "bob@local", Roles: []string{"a\nb"}},
	}
	for name, a := range bad {
		wantCode(t, name, f.Add(context.Background(), a, password), engine.Invalid)
	}
	for name, p := range map[string]string{"empty": "", "overlong": strings.Repeat("secret", 200)} {
		err := f.Add(context.Background(), account.Account{ID: "bob@local"}, p)
		wantCode(t, name, err, engine.Invalid)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the password", name)
		}
	}
	if all, _ := f.List(context.Background()); len(all) != 0 {
		t.Errorf("accounts %+v", all)
	}
}

func TestFirstStart(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	admin, err := f.EnsureAdmin(ctx, "")
	if err != nil || !admin.Created || len(admin.Generated) < 20 {
		t.Fatalf("%+v, %v", admin, err)
	}
	wantOK(t, "sign in", signIn(f.Store, "admin@local", admin.Generated))
	a, err := f.Get(ctx, account.AdminID)
	if err != nil || strings.Join(a.Roles, ",") != account.AdminRole {
		t.Errorf("account %+v, %v", a, err)
	}
	again, err := f.EnsureAdmin(ctx, "other")
	if err != nil || again != (account.Admin{}) {
		t.Errorf("second start: %+v, %v", again, err)
	}
	wantCode(t, "the variable changes nothing", signIn(f.Store, "admin@local", "other"), engine.Unauthenticated)
	for given, want := range map[string]bool{"": false, "other": true, admin.Generated: false, strings.Repeat("x", 2000): true} {
		if differs, err := f.AdminPasswordDiffers(ctx, given); differs != want || err != nil {
			t.Errorf("differs from %.30q: %t, %v", given, differs, err)
		}
	}
}

func TestFirstStartWithAPassword(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	_, err := f.EnsureAdmin(ctx, strings.Repeat("x", 1025))
	wantCode(t, "overlong", err, engine.Invalid)
	admin, err := f.EnsureAdmin(ctx, "given")
	if err != nil || admin != (account.Admin{Created: true}) {
		t.Errorf("%+v, %v", admin, err)
	}
	wantOK(t, "sign in", signIn(f.Store, "admin@local", "given"))
	other, _ := f.EnsureAdmin(ctx, "")
	if other.Created {
		t.Error("created twice")
	}
}

// TestNoAdminBesideOtherAccounts checks that Config.First is called only for the very first
// account, and that Add fails if Config.First fails.
func TestNoAdminBesideOtherAccounts(t *testing.T) {
	ctx, calls, failure := context.Background(), 0, errors.New("no role")
	f := newFixture(t)
	f.config.First = func(ctx context.Context) error {
		calls++
		return errors.Join(failure, serverOnly(ctx))
	}
	f.Store = f.another()
	if err := f.Add(ctx, account.Account{ID: "root@local"}, "x"); !errors.Is(err, failure) {
		t.Errorf("without the role: %v", err)
	}
	failure = nil
	f.add("root@local")
	f.add("second@local")
	admin, err := f.EnsureAdmin(ctx, "x")
	if err != nil || admin.Created || calls != 2 {
		t.Errorf("%+v, %v, %d calls", admin, err, calls)
	}
	if differs, err := f.AdminPasswordDiffers(ctx, "x"); differs || engine.CodeOf(err) != engine.NotFound {
		t.Errorf("without the account: %t, %v", differs, err)
	}
}

func TestClassesAreOutOfReach(t *testing.T) {
	for _, c := range account.Classes() {
		if !strings.HasPrefix(c.FullName, "#") || c.Namespace != "" {
			t.Errorf("class %s could be an application's", c.FullName)
		}
		for _, p := range c.Properties[1:] {
			if !p.Nullable || p.Type == engine.Password {
				t.Errorf("property %s of %s", p.Name, c.FullName)
			}
		}
	}
	if _, err := account.New(account.Config{Classes: account.Classes()[:2]}); err == nil {
		t.Error("New without all classes")
	}
}
