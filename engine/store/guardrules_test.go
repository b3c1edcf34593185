package store_test

import (
	"errors"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

// rights is an engine.Guard with one condition for each permission, on all classes. It hides
// properties by name.
type rights struct {
	rows   map[engine.Permission]*engine.Filter
	hidden string
}

func (r rights) Rows(may engine.Permission, _ *engine.Class) *engine.Filter { return r.rows[may] }

func (r rights) Creates(*engine.Class) bool { return !r.rows[engine.MayUse].Never() }

func (r rights) Hides(_ engine.Permission, p *engine.Property) bool { return p.Name == r.hidden }

// TestConditionThatAlwaysHolds checks guards whose condition is the constant true. They must act as a guard whose
// condition is nil.
func TestConditionThatAlwaysHolds(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("text", engine.String))
		s := openAt(t, p, c)
		always := &engine.Filter{Op: engine.OpConst, Value: true}
		ctx := engine.WithGuard(t.Context(), rights{rows: map[engine.Permission]*engine.Filter{
			engine.MayRead: always, engine.MayWrite: always, engine.MayDelete: always, engine.MayUse: always}})
		if _, err := s.Create(ctx, c, row(c, "id", "1", "text", "a"), engine.WriteOptions{}); err != nil {
			t.Errorf("create: %v", err)
		}
		if _, err := s.Update(ctx, c, "1", row(c, "text", "b"), engine.WriteOptions{}); err != nil {
			t.Errorf("update: %v", err)
		}
		if it, err := s.Get(ctx, c, "1"); err != nil || it.Get("text") != "b" {
			t.Errorf("get: %v, %v, want text b", it, err)
		}
		if _, err := s.Get(ctx, c, "none"); engine.CodeOf(err) != engine.NotFound {
			t.Errorf("get of a missing item: %v, want NotFound", err)
		}
		if err := s.Delete(ctx, c, "1", nil); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
}

// TestHiddenFirstProperty checks that formulas do not see a hidden property, in the special case that it is the first
// property of an item without links.
func TestHiddenFirstProperty(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("text", engine.String))
		c.Properties = append([]*engine.Property{storetest.Prop("secret", engine.String)}, c.Properties...)
		for i, property := range c.Properties {
			property.OrderNumber, property.Definition = i, c.FullName
		}
		c.Semantic = "secret| |text"
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
		s := openAt(t, p, c)
		if _, err := s.Create(t.Context(), c, row(c, "id", "1", "secret", "hush", "text", "a"), engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		ctx := engine.WithGuard(t.Context(), rights{hidden: "secret"})
		if _, err := s.Update(ctx, c, "1", row(c, "text", "b"), engine.WriteOptions{}); err != nil {
			t.Errorf("update: %v", err)
		}
		if it, err := s.Get(t.Context(), c, "1"); err != nil || it.Get("secret") != "hush" || it.Get("text") != "b" {
			t.Errorf("got %v, %v, want the secret as it was and text b", it, err)
		}
	})
}

// TestErrorsAboutHiddenAttributes checks that an error names an attribute only if
// the account may read it.
func TestErrorsAboutHiddenAttributes(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		required := func(p *engine.Property) { p.Nullable = false }
		c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("secret", engine.String, required), storetest.Prop("text", engine.String, required))
		s := openAt(t, p, c)
		ctx := engine.WithGuard(t.Context(), rights{hidden: "secret"})
		_, err := s.Create(t.Context(), c, row(c, "id", "1", "secret", "a"), engine.WriteOptions{})
		if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Code != engine.Invalid || e.Attribute != "text" {
			t.Errorf("got %v for the server, want an error about the attribute text", err)
		}
		_, err = s.Create(t.Context(), c, row(c, "id", "1", "secret", "a", "text", "b"), engine.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Update(ctx, c, "1", row(c, "text", nil), engine.WriteOptions{})
		if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Code != engine.Invalid || e.Attribute != "text" {
			t.Errorf("got %v for a readable attribute, want an error about it", err)
		}
		_, err = s.Create(ctx, c, row(c, "id", "2", "text", "b"), engine.WriteOptions{})
		if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Code != engine.Forbidden || e.Attribute != "" {
			t.Errorf("got %v for a hidden attribute, want an error that does not name it", err)
		}
	})
}

// TestNewItemsThatAreRenamed creates and renames an item in the same save. The final state of the item must determine
// whether the account may create it.
func TestNewItemsThatAreRenamed(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("owner", engine.String))
		s := openAt(t, p, c)
		own, err := query.Equal(c.Property("owner"), "ann")
		if err != nil {
			t.Fatal(err)
		}
		ctx := engine.WithGuard(t.Context(), rights{rows: map[engine.Permission]*engine.Filter{engine.MayUse: own}})
		for _, x := range []struct {
			id, owner string
			want      engine.Code // 0 for success
		}{{"x1", "ann", 0}, {"x2", "bob", engine.Forbidden}} {
			_, err := s.Save(ctx, []engine.Record{
				{Class: c, ID: x.id, Values: row(c, "id", x.id, "owner", "ann")},
				{Class: c, ID: x.id, Values: row(c, "id", x.id+" renamed", "owner", x.owner)}})
			if x.want == 0 && err != nil || x.want != 0 && engine.CodeOf(err) != x.want {
				t.Errorf("for %s: got %v, want code %d", x.owner, err, x.want)
			}
			it, err := s.Get(t.Context(), c, x.id+" renamed")
			if (err == nil) != (x.want == 0) {
				t.Errorf("for %s: got the item %v (error %v) after the save", x.owner, it, err)
			}
		}
	})
}
