package shared

import (
	"fmt"
	"testing"
	"time"

	"restsrv/engine/script/vm"
)

func TestSharedEnds(t *testing.T) {
	s := NewStore(10_000)
	if s.put("a", 1.0, 8, 20*time.Millisecond, false) != nil || s.put("b", 2.0, 8, 0, false) != nil {
		t.Fatal("refused")
	}
	if _, _, err := s.add("n", 1, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	sum, _, _ := s.add("n", 1, time.Hour) // the entry keeps its expiry
	if sum != 2 {
		t.Errorf("sum %v", sum)
	}
	waitFor(t, "the end of an entry", func() bool { _, ok := s.get("a"); return !ok })
	waitFor(t, "the end of a number", func() bool { _, ok := s.get("n"); return !ok })
	if s.put("c", 1.0, 8, time.Millisecond, false) != nil {
		t.Fatal("refused")
	}
	s.Sweep(time.Now().Add(time.Second))
	if n, bytes := s.Size(); n != 1 || bytes <= 0 {
		t.Errorf("%d entries of %d bytes are left", n, bytes)
	}
	s.clear()
	if n, bytes := s.Size(); n != 0 || bytes != 0 {
		t.Errorf("%d entries of %d bytes are left", n, bytes)
	}
}

// TestSharedIsBounded checks that the least recently used entries are evicted
// and that results of once stay.
func TestSharedIsBounded(t *testing.T) {
	s := NewStore(20_000)
	if s.put("kept", 1.0, 1000, 0, true) != nil {
		t.Fatal("refused")
	}
	for i := range 1000 {
		if s.put(fmt.Sprint(i), "x", 500, 0, false) != nil {
			t.Fatal("refused")
		}
		s.get("0")
		if _, bytes := s.Size(); bytes > 20_000 {
			t.Fatalf("%d bytes are kept", bytes)
		}
	}
	for key, want := range map[string]bool{"0": true, "999": true, "998": true, "1": false, "900": false, "kept": true} {
		if _, ok := s.get(key); ok != want {
			t.Errorf("%s is kept: %v", key, ok)
		}
	}
	if err := s.put("huge", "x", 5000, 0, false); err == nil || err.limit != 5000 {
		t.Errorf("a quarter of the store was exceeded: %v", err)
	}
	for i := range 20 {
		s.put(fmt.Sprint("pin", i), "x", 4000, 0, true)
	}
	if _, bytes := s.Size(); bytes > 20_000 {
		t.Errorf("pinned entries take %d bytes", bytes)
	}
	s.Resize(2000)
	if _, bytes := s.Size(); bytes > 20_000 {
		t.Errorf("%d bytes are left", bytes)
	}
}

// waitFor waits until a condition is true.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// TestGateIsRemoved: a gate at which no call waits is removed when its holder leaves.
func TestGateIsRemoved(t *testing.T) {
	s, passed := NewStore(1000), false
	c := &contender{call: &vm.Call{}, begin: func() error {
		passed = true
		return nil
	}}
	s.join("lock l", c)
	if !passed || len(s.gates) != 1 {
		t.Fatalf("the first call passed: %v, gates: %d", passed, len(s.gates))
	}
	if !s.leave("lock l", c) || len(s.gates) != 0 {
		t.Errorf("%d gates are left", len(s.gates))
	}
}
