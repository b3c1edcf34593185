package access

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// reads is a formula that reads these attributes and computes nothing.
type reads []*engine.Property

func (f reads) Needs() [][]*engine.Property { return [][]*engine.Property{f} }

func (f reads) Eval(context.Context, *engine.Item, engine.FormulaData) (any, error) { return nil, nil }

// TestPartlyReads checks which stored values of cached attributes are withheld from
// an account.
func TestPartlyReads(t *testing.T) {
	w := newWorld()
	cached := func(p *engine.Property) { p.Cached = true }
	w.dept.Properties = append(w.dept.Properties, storetest.Prop("total", engine.Int, cached), storetest.Prop("double", engine.Int, cached), storetest.Prop("who", engine.String, cached))
	w.share.Properties = append(w.share.Properties, storetest.Ref("dept", w.dept))
	for _, c := range []*engine.Class{w.dept, w.share} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	w.link()
	w.dept.Property("total").Formula = reads{w.doc.Property("readers"), w.share.Property("who")}
	w.dept.Property("double").Formula = reads{w.dept.Property("budget")}
	w.dept.Property("who").Formula = reads{w.dept.Property("name")}
	for _, x := range []struct {
		granted []string
		want    []string
	}{
		{[]string{"r", "*", "full"}, nil},
		{[]string{"r", "*", "read"}, nil},
		{[]string{"r", "c:::dept@test", "read"}, []string{"total [share@test]"}},
		{[]string{"r", "i:::dept@test@1", "read", "r", "c:::share@test", "read"}, nil},
		{[]string{"r", "c:::dept@test", "read", "r", "i:::share@test@1", "read"}, []string{"total [share@test]"}},
		{[]string{"r", "c:::dept@test", "read", "r", "c:::share@test", "read", "x", "a:::dept@test.budget", "read"}, []string{"double []"}},
		{[]string{"r", "c:::dept@test", "read", "r", "c:::share@test", "read", "x", "a:::dept@test.double", "read"}, nil},
		{[]string{"r", "c:::share@test", "write"}, nil},
	} {
		found, err := NewChecker(w.grant(x.granted...).config()).PartlyReads(t.Context(), &engine.Account{Name: "r", Roles: []string{"r"}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range found {
			names := []string{}
			for _, c := range one.Classes {
				names = append(names, c.FullName)
			}
			got = append(got, fmt.Sprint(one.Property.Name, " ", names))
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("granted %v: got %v, want %v", x.granted, got, x.want)
		}
	}
}
