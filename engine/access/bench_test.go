package access

import (
	"context"
	"testing"

	"restsrv/engine"
)

// still is an inner repository that always returns the same item, at no cost.
type still struct {
	engine.Repository
	item *engine.Item
}

func (s still) Get(context.Context, *engine.Class, string, ...*engine.Load) (*engine.Item, error) {
	return s.item, nil
}

func gated(w *world) (*Repository, *engine.Item) {
	it := newItem(w.memo, "m1", "title", "One")
	cfg := w.config()
	cfg.Inner = still{item: it}
	return New(cfg), it
}

// TestGateAllocates checks the allocations of the gate per request: none if the account may do
// everything, else only those for the guard in the context.
func TestGateAllocates(t *testing.T) {
	w := newWorld().link().grant("admin", "*", "full", "reader", "c:::memo@test", "read", "x", "a:::dept@test.budget", "read", "x", "a:::doc@test.pay", "read", "reader", "a:::doc@test.pay", "read")
	r, _ := gated(w)
	for role, want := range map[string]float64{"admin": 0, "reader": 4} {
		ctx := as(t, account("ann@local", "first", role))
		got := testing.AllocsPerRun(100, func() {
			if _, err := r.Get(ctx, w.memo, "m1"); err != nil {
				t.Fatal(err)
			}
		})
		if got > want {
			t.Errorf("%s: %v allocations, expected %v", role, got, want)
		}
	}
}

func benchmarkGet(b *testing.B, role string, granted ...string) {
	w := newWorld().link().grant(append([]string{"admin", "*", "full", "reader", "c:::memo@test", "read"}, granted...)...)
	r, _ := gated(w)
	ctx := as(b, account("ann@local", "first", role))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Get(ctx, w.memo, "m1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetOfAdmin(b *testing.B)  { benchmarkGet(b, "admin") }
func BenchmarkGetOfReader(b *testing.B) { benchmarkGet(b, "reader") }
func BenchmarkGetRedacted(b *testing.B) {
	benchmarkGet(b, "reader", "x", "a:::doc@test.pay", "read")
}
