package sqlite

import (
	"database/sql/driver"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNeedle checks for all kinds of characters that a needle is found in a text if and only if the upper case of the
// text includes the upper case of the needle.
func TestNeedle(t *testing.T) {
	alphabet := []rune("abzABZ 09%_ßäÖñıİſŉǰΐςσΣжЁёЖъﬁﬃẖ中😀\u0345\u0301ႠაᲐ")
	random := func(most int) string {
		var b strings.Builder
		for range rand.IntN(most) {
			if rand.IntN(3) > 0 {
				b.WriteRune(rune('a' + rand.IntN(3)))
			} else {
				b.WriteRune(alphabet[rand.IntN(len(alphabet))])
			}
		}
		return b.String()
	}
	found := 0
	for range 50000 {
		s, part := random(12), random(4)
		if rand.IntN(20) == 0 {
			s = strings.Repeat(s, 60)
		}
		want := strings.Contains(upper(s), upper(part))
		if want {
			found++
		}
		if got := needleOf(part).containedIn(s); got != want {
			t.Fatalf("%q in %q: got %v, want %v", part, s, got, want)
		}
	}
	if found < 1000 {
		t.Errorf("only %d of the texts were found", found)
	}
	if got := needleOf("A").containedIn("\xffa"); !got {
		t.Error("a text that is not UTF-8: got not found, want found")
	}
}

// TestIncludesAnyNull checks that the function returns null in the same cases as comparisons joined by OR.
func TestIncludesAnyNull(t *testing.T) {
	for _, test := range []struct {
		args []driver.Value
		want driver.Value
	}{
		{[]driver.Value{"x", "axb", nil}, int64(1)},
		{[]driver.Value{"x", nil, "AXB"}, int64(1)},
		{[]driver.Value{"x", "b", nil}, nil},
		{[]driver.Value{"x", "b", "c"}, int64(0)},
		{[]driver.Value{nil, "b"}, nil},
	} {
		if got, err := includesAny(nil, test.args); err != nil || got != test.want {
			t.Errorf("includesAny(%v): got %v, %v, want %v", test.args, got, err, test.want)
		}
	}
}
