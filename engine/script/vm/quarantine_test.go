package vm

import (
	"log/slog"
	"testing"
	"time"

	"restsrv/engine/script/limits"
)

// TestQuarantineEnds: a quarantine restores the limits of the group when it ends.
func TestQuarantineEnds(t *testing.T) {
	s := &Service{Counters: &Counters{}, Log: slog.New(slog.DiscardHandler), Limits: limits.Limits{VMs: 2, InFlight: 8}}
	g, now := NewGroup(s, false), time.Now()
	for range 3 {
		g.recordInterrupt(now)
	}
	if !g.exclusive || g.perVM != 1 || g.limit != exclusiveVMs {
		t.Errorf("after three interrupts: exclusive %v, %d calls per VM, at most %d VMs", g.exclusive, g.perVM, g.limit)
	}
	g.RemoveIdle(now.Add(quarantineCalm - time.Minute))
	if !g.exclusive {
		t.Error("the quarantine ended early")
	}
	g.RemoveIdle(now.Add(quarantineCalm))
	if g.exclusive || g.perVM != 8 || g.limit != 2 {
		t.Errorf("after the quarantine: exclusive %v, %d calls per VM, at most %d VMs", g.exclusive, g.perVM, g.limit)
	}
	far := NewGroup(s, false)
	for i := range 10 {
		far.recordInterrupt(time.Unix(int64(i)*31, 0))
	}
	if far.exclusive {
		t.Error("the group is exclusive after three interrupts in more than a minute")
	}
}
