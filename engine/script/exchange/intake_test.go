package exchange

import (
	"context"
	"slices"
	"testing"
	"time"

	"restsrv/engine"
)

// TestIntake admits bodies while others are inside.
func TestIntake(t *testing.T) {
	const mb = 1 << 20
	in := NewIntake(32 * 10 * mb) // 10 MiB at once, 80 MiB in the queue
	ctx := t.Context()
	enter := func(n int) func() {
		leave, err := in.Enter(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	first, second := enter(6*mb), enter(4*mb)
	order := make(chan int, 3)
	var leaves [3]func()
	wait := func(i, n int) {
		go func() {
			leaves[i] = enter(n)
			order <- i
		}()
		for len(in.queued()) != i+1 {
			time.Sleep(time.Millisecond)
		}
	}
	wait(0, 20*mb) // larger than the limit: admitted alone
	wait(1, mb)
	wait(2, 59*mb)
	if _, err := in.Enter(ctx, mb); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("one too many: %v", err)
	}
	enter(smallBody)() // admitted without waiting
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := in.Enter(gone, smallBody+1); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("a client that has gone: %v", err)
	}
	second()
	second()
	if got := in.queued(); !slices.Equal(got, []int{20 * mb, mb, 59 * mb}) {
		t.Errorf("waiting %v", got)
	}
	first()
	for i := range 3 {
		if got := <-order; got != i {
			t.Errorf("%d came in as number %d", got, i)
		}
		leaves[i]()
	}
	if in.inside != 0 || in.outside != 0 {
		t.Errorf("%d inside, %d outside", in.inside, in.outside)
	}
}

func (in *Intake) queued() (all []int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, e := range in.waiting {
		all = append(all, e.bytes)
	}
	return all
}
