package engine

import (
	"context"
	"testing"
)

type guardOf struct{ Guard }

// The values of a request are found in all derived contexts, and inner values
// override outer ones.
func TestRequestContext(t *testing.T) {
	type other struct{}
	account, caller := &Account{ID: "ann@local"}, &Caller{Request: "r1"}
	base := context.WithValue(context.Background(), other{}, "kept")
	ctx := WithRequest(base, account, caller)
	for name, ctx := range map[string]context.Context{"alone": ctx, "guarded": WithGuard(ctx, guardOf{}), "wrapped": context.WithoutCancel(ctx)} {
		if AccountFrom(ctx) != account || CallerFrom(ctx) != *caller || ctx.Value(other{}) != "kept" {
			t.Errorf("%s: got %v, %v, %v", name, AccountFrom(ctx), CallerFrom(ctx), ctx.Value(other{}))
		}
	}
	server := WithAccount(ctx, nil)
	if AccountFrom(server) != nil || CallerFrom(server) != *caller {
		t.Errorf("without the account: got %v, %v", AccountFrom(server), CallerFrom(server))
	}
	first, second := &guardOf{}, &guardOf{}
	guarded := WithGuard(ctx, first)
	switch {
	case GuardFrom(ctx) != nil:
		t.Error("a context without a guard has one")
	case GuardFrom(guarded) != first:
		t.Error("the guard is not found")
	case WithGuard(guarded, first) != guarded:
		t.Error("setting the same guard made a new context")
	case GuardFrom(WithGuard(guarded, second)) != second:
		t.Error("the inner guard does not override the outer one")
	case GuardFrom(WithGuard(guarded, nil)) != nil:
		t.Error("a nil guard does not remove the guard")
	}
}

// TestRequestContextEnds: waiting for the end of a request needs no goroutine
// for the context.
func TestRequestContextEnds(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	ctx, stop := context.WithCancel(WithGuard(WithRequest(parent, Anonymous, &Caller{}), &guardOf{}))
	defer stop()
	cancel()
	if ctx.Err() == nil { // a goroutine would not have run yet
		t.Error("a derived context did not end with the request")
	}
}

func TestContextsAllocate(t *testing.T) {
	ctx, caller, guard := context.Background(), &Caller{}, &guardOf{}
	if got := testing.AllocsPerRun(100, func() { WithGuard(WithRequest(ctx, Anonymous, caller), guard) }); got > 2 {
		t.Errorf("%v allocations for account, caller and guard, expected 2", got)
	}
}
