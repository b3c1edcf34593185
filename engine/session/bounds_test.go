package session

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
)

// TestLocalPathBounds checks the first and the last characters of the ranges that are forbidden
// in a return path, and their neighbours, plain and encoded.
func TestLocalPathBounds(t *testing.T) {
	for target, ok := range map[string]bool{
		"/a!": true, "/a~": true, "/a ": false, "/a\x1f": false, "/a\x7f": false, "/aé": false,
		"/%1F": false, "/%20": true, "/%21": true, "/%7E": true, "/%7F": false,
		"/%C2%80": false, "/%C2%9F": false, "/%C2%A0": true, "/%5B": true, "/%5C": false, "/%5D": true,
		"/" + strings.Repeat("a", maxReturn-1): true, "/" + strings.Repeat("a", maxReturn): false,
	} {
		want := ""
		if ok {
			want = target
		}
		if got := localPath(target); got != want {
			t.Errorf("%.40q: got %.40q, want %.40q", target, got, want)
		}
	}
}

// TestSpan checks how a waiting time is written in words.
func TestSpan(t *testing.T) {
	for seconds, want := range map[int64]string{1: "a second", 2: "2 seconds", 119: "119 seconds", 120: "2 minutes", 121: "3 minutes", 180: "3 minutes", 181: "4 minutes"} {
		if got := formatSeconds(seconds); got != want {
			t.Errorf("%d seconds are %q, want %q", seconds, got, want)
		}
	}
}

// TestShortIdleIsWrittenOften checks that the use of a session with a short idle time is recorded
// after a tenth of the idle time.
func TestShortIdleIsWrittenOften(t *testing.T) {
	for _, x := range []struct{ idle, want time.Duration }{
		{10 * time.Second, time.Second}, {10 * time.Minute, time.Minute}, {20 * time.Minute, time.Minute}, {5 * time.Minute, 30 * time.Second},
	} {
		now := clockAt(time.Unix(1_000_000_000, 0))
		data := &remembered{}
		s, err := New(Config{Data: data, Class: Class(), Idle: x.idle, Now: now.time})
		if err != nil {
			t.Fatal(err)
		}
		st := store{s}
		if err := st.CommitCtx(t.Context(), "id", []byte(`{"account":"ann@local"}`), now.time()); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after  time.Duration
			writes int
		}{{x.want - time.Millisecond, 0}, {x.want, 1}} {
			now.set(data.it.When("created").Add(step.after))
			if _, found, err := st.FindCtx(t.Context(), "id"); err != nil || !found || data.updates != step.writes {
				t.Errorf("idle time %s, used after %s: found %v, error %v, %d writes; want %d", x.idle, step.after, found, err, data.updates, step.writes)
			}
		}
	}
}

// TestSessionThatEndsMeanwhile checks a session that another request ends between two statements:
// this is no error, but other errors are reported.
func TestSessionThatEndsMeanwhile(t *testing.T) {
	now := clockAt(time.Now())
	data := &remembered{}
	s, err := New(Config{Data: data, Class: Class(), Now: now.time})
	if err != nil {
		t.Fatal(err)
	}
	st := store{s}
	if err := st.CommitCtx(t.Context(), "id", []byte(`{}`), now.time()); err != nil {
		t.Fatal(err)
	}
	now.set(now.time().Add(2 * time.Minute))
	for _, x := range []struct {
		name string
		fail error
		ok   bool
	}{
		{"the session has ended", engine.NoItem(Class(), "id"), true},
		{"the database is busy", engine.Errorf(engine.Unavailable, "busy", "busy"), false},
	} {
		data.fail = x.fail
		if _, _, err := st.FindCtx(t.Context(), "id"); (err == nil) != x.ok {
			t.Errorf("used while %s: got error %v, want one: %v", x.name, err, !x.ok)
		}
		if err := st.DeleteCtx(t.Context(), "id"); (err == nil) != x.ok {
			t.Errorf("ended while %s: got error %v, want one: %v", x.name, err, !x.ok)
		}
	}
}

// clock is a clock that a test can set while other goroutines read it.
type clock struct{ ns atomic.Int64 }

func clockAt(t time.Time) *clock {
	c := &clock{}
	c.set(t)
	return c
}

func (c *clock) set(t time.Time) { c.ns.Store(t.UnixNano()) }

func (c *clock) time() time.Time { return time.Unix(0, c.ns.Load()) }
