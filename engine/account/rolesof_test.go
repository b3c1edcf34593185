package account_test

import (
	"context"
	"slices"
	"testing"

	"restsrv/engine/account"
)

func TestRolesOf(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	for id, roles := range map[string][]string{"ann@local": {"a", "b"}, "bob@local": {"b", "c"}, "cid@local": nil, "dan@local": {"d"}} {
		wantOK(t, id, f.Add(ctx, account.Account{ID: id, Roles: roles}, password))
	}
	for _, x := range []struct{ ids, want []string }{
		{nil, nil},
		{[]string{"nobody@local", "a"}, nil},
		{[]string{"cid@local"}, nil},
		{[]string{"bob@local", "ann@local", "sales"}, []string{"a", "b", "c"}},
	} {
		got, err := f.RolesOf(ctx, x.ids)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("roles of %v: %v, %v, expected %v", x.ids, got, err, x.want)
		}
	}
}
