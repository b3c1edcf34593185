package sqlite

import (
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"testing"

	"restsrv/engine"
)

// TestCompareDecimals checks that the collation orders decimals as engine.Decimal does.
func TestCompareDecimals(t *testing.T) {
	var all []string
	for _, whole := range []string{"0", "1", "9", "10", "99", "100", "123456789012345678901234567890"} {
		for _, fraction := range []string{"", "0", "1", "01", "10", "5", "50", "99", "000000000000000000001"} {
			for _, sign := range []string{"", "-"} {
				text := sign + whole
				if fraction != "" {
					text += "." + fraction
				}
				d, ok := engine.ParseDecimal(text)
				if !ok {
					t.Fatalf("%q is no decimal", text)
				}
				all = append(all, string(d))
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		d, _ := engine.ParseDecimal(fmt.Sprintf("%d.%d", r.IntN(2000)-1000, r.IntN(1000)))
		all = append(all, string(d))
	}
	for _, a := range all {
		for _, b := range all {
			want := engine.Decimal(a).Compare(engine.Decimal(b))
			if got := compareDecimals(a, b); sign(got) != want {
				t.Errorf("%s against %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestMatcher(t *testing.T) {
	m := emptyMatcher()
	for i := range 3 * maxPatterns {
		got, err := m.call(nil, []driver.Value{fmt.Sprint("x", i), fmt.Sprintf("^x%d$", i)})
		if err != nil || got != int64(1) {
			t.Fatal(got, err)
		}
		if len(m.compiled) > maxPatterns {
			t.Fatalf("%d patterns are cached, want at most %d", len(m.compiled), maxPatterns)
		}
	}
	if got, err := m.call(nil, []driver.Value{nil, "x"}); err != nil || got != int64(0) {
		t.Errorf("null: got %v, %v, want 0", got, err)
	}
	if _, err := m.call(nil, []driver.Value{"x", "("}); err == nil {
		t.Error("a malformed pattern returned no error")
	}
}
