package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/storetest"
)

func create(t *testing.T, st *store.Store, c *engine.Class, fields ...engine.Field) *engine.Item {
	t.Helper()
	it, err := st.Create(t.Context(), c, engine.ValuesOf(c, fields...), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// upgraded returns a Store of other classes that shares the database of st.
func upgraded(t *testing.T, st *store.Store, classes ...*engine.Class) *store.Store {
	t.Helper()
	next, err := st.With(classes)
	if err == nil {
		err = next.Upgrade(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestWith changes the classes of an open database. Both Stores read and write it, each with its own classes.
func TestWith(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before := note(prop("x", engine.Int))
		st := openAt(t, p, before)
		if done, err := st.Seed(t.Context(), nil); !done || err != nil {
			t.Fatal(done, err)
		}
		create(t, st, before, engine.Named("id", "a"), engine.Named("x", int64(1)))

		after := note(prop("x", engine.Int, indexed), prop("y", engine.String, required, func(p *engine.Property) { p.Default = "new" }))
		pet := storetest.NewClass("pet", prop("id", engine.String))
		next := upgraded(t, st, after, pet)
		it, err := next.Get(t.Context(), after, "a")
		if err != nil || it.Get("x") != int64(1) || it.Get("y") != "new" {
			t.Fatalf("got %v, %v", it, err)
		}
		create(t, next, pet, engine.Named("id", "rex"))
		create(t, next, after, engine.Named("id", "b"), engine.Named("y", "v"))
		create(t, st, before, engine.Named("id", "c"), engine.Named("x", int64(3)))
		for _, id := range []string{"a", "b", "c"} {
			if _, err := st.Get(t.Context(), before, id); err != nil {
				t.Errorf("the first Store does not find %s: %v", id, err)
			}
			if _, err := next.Get(t.Context(), after, id); err != nil {
				t.Errorf("the other Store does not find %s: %v", id, err)
			}
		}
		if _, err := st.Get(t.Context(), pet, "rex"); engine.CodeOf(err) != engine.NotFound {
			t.Errorf("the first Store has a class of the other Store: got %v, want NotFound", err)
		}
		if done, err := next.Seed(t.Context(), nil); done || err != nil {
			t.Errorf("a second Seed: got %v, %v, want false", done, err)
		}
	})
}

// TestWithInTransaction checks that a transaction includes the calls of all Stores of the database. Otherwise the two
// Stores would wait for each other.
func TestWithInTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before, pet := note(prop("x", engine.Int)), storetest.NewClass("pet", prop("id", engine.String))
		st := openAt(t, p, before)
		next := upgraded(t, st, before, pet)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for _, failure := range []error{nil, errors.New("taken back")} {
			id := fmt.Sprint(failure)
			err := next.Transaction(ctx, func(ctx context.Context) error {
				if _, err := next.Create(ctx, pet, engine.ValuesOf(pet, engine.Named("id", id)), engine.WriteOptions{}); err != nil {
					return err
				}
				if _, err := st.Create(ctx, before, engine.ValuesOf(before, engine.Named("id", id)), engine.WriteOptions{}); err != nil {
					return err
				}
				if _, err := next.Get(ctx, before, id); err != nil {
					return err
				}
				return failure
			})
			if !errors.Is(err, failure) {
				t.Fatalf("got %v", err)
			}
			_, one := next.Get(ctx, pet, id)
			_, other := st.Get(ctx, before, id)
			if (one == nil) != (failure == nil) || (other == nil) != (failure == nil) {
				t.Errorf("after %v: %v, %v", failure, one, other)
			}
		}
	})
}

// TestWithRefused: a change that the data does not permit is refused as a whole, with the same error as at a start.
func TestWithRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before := note(prop("x", engine.Int))
		st := openAt(t, p, before)
		create(t, st, before, engine.Named("id", "a"), engine.Named("x", int64(1)))
		next, err := st.With([]*engine.Class{note(prop("x", engine.Boolean), prop("z", engine.Int)), storetest.NewClass("pet", prop("id", engine.String))})
		if err != nil {
			t.Fatal(err)
		}
		var refused *layout.SchemaError
		if err := next.Upgrade(t.Context()); !errors.As(err, &refused) || len(refused.Problems) != 1 || !strings.Contains(err.Error(), `property "x" was int`) {
			t.Fatalf("got %v", err)
		}
		if it, err := st.Get(t.Context(), before, "a"); err != nil || it.Get("x") != int64(1) {
			t.Errorf("got %v, %v", it, err)
		}
		// The failed change must not have recorded the class pet: if it had, the root of pet could not change now.
		pet := storetest.NewClass("pet", prop("name", engine.String))
		next = upgraded(t, st, note(prop("x", engine.Int)), pet)
		create(t, next, pet, engine.Named("name", "Rex"))
	})
}

// TestWithUnderLoad changes the classes repeatedly during writes and reads. No request fails.
func TestWithUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		class := note(prop("x", engine.Int))
		st := openAt(t, p, class)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					id := fmt.Sprintf("%d-%d", w, n)
					_, err := st.Create(t.Context(), class, engine.ValuesOf(class, engine.Named("id", id), engine.Named("x", int64(n))), engine.WriteOptions{})
					if err == nil {
						_, err = st.Get(t.Context(), class, id)
					}
					if err != nil {
						t.Errorf("a request failed: %v", err)
						return
					}
				}
			})
		}
		properties := []*engine.Property{prop("x", engine.Int)}
		for i := range 12 {
			kinds := []func(*engine.Property){func(*engine.Property) {}, indexed, func(p *engine.Property) { p.Search = true }}
			properties = append(properties, prop(fmt.Sprint("p", i), engine.String, kinds[i%3]))
			upgraded(t, st, note(properties...), storetest.NewClass(fmt.Sprint("c", i), prop("id", engine.String)))
		}
		cancel()
		wg.Wait()
	})
}

// TestWithoutDescendant removes a class that shares a table. Its objects must stay in the table, but the remaining
// classes must not contain them.
func TestWithoutDescendant(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		tree := func(names ...string) (classes []*engine.Class) {
			classes = []*engine.Class{note()}
			for _, name := range names {
				classes = append(classes, storetest.Extend(classes[0], name))
			}
			return classes
		}
		before := tree("letter", "card")
		st := openAt(t, p, before...)
		for i, c := range before {
			create(t, st, c, engine.Named("id", fmt.Sprint(i)))
		}
		for _, names := range [][]string{{"letter"}, nil, {"letter", "card"}} {
			after := tree(names...)
			st = upgraded(t, st, after...)
			found := 0
			err := st.List(t.Context(), &engine.Query{Class: after[0], Count: -1}, func(*engine.Item) error { found++; return nil })
			if err != nil || found != len(after) {
				t.Errorf("with %v: got %d objects (%v), want %d", names, found, err, len(after))
			}
		}
	})
}

// TestWithNewDescendant adds a descendant to other classes. A Store with the previous classes, in this process or
// another, must return the objects of the descendant as objects of the root.
func TestWithNewDescendant(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before, after := []*engine.Class{note()}, []*engine.Class{note()}
		before = append(before, storetest.Extend(before[0], "card"))
		after = append(after, storetest.Extend(after[0], "card"), storetest.Extend(after[0], "letter"))
		st := openAt(t, p, before...)
		create(t, upgraded(t, st, after...), after[2], engine.Named("id", "a"))
		it, err := st.Get(t.Context(), before[0], "a")
		if err != nil || it.Class != before[0] {
			t.Errorf("got %v, %v", it, err)
		}
	})
}

// TestWithOtherProperties saves many objects by a cached statement, and then saves objects of a class that has the
// same name but another property.
func TestWithOtherProperties(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		st := openAt(t, p, note(prop("x", engine.String)))
		values := map[string]any{"x": nil, "y": "v"} // x is removed, so it must be null
		for _, name := range []string{"x", "y"} {
			c := note(prop(name, engine.String))
			next := upgraded(t, st, c)
			var records []engine.Record
			for i := range 3 {
				records = append(records, engine.Record{Class: c, Values: engine.ValuesOf(c, engine.Named("id", fmt.Sprint(name, i)), engine.Named(name, values[name]))})
			}
			if _, err := next.Save(t.Context(), records); err != nil {
				t.Fatal(err)
			}
			if it, err := next.Get(t.Context(), c, name+"1"); err != nil || it.Get(name) != values[name] {
				t.Errorf("%s: got %v (%v), want %v", name, it, err, values[name])
			}
		}
	})
}
