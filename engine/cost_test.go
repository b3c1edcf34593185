package engine

import (
	"strings"
	"testing"
	"time"
)

// TestFilterCost: filters are refused if their cost is much greater than their
// size, such as nested concatenations and many regular expressions.
func TestFilterCost(t *testing.T) {
	c := &Class{Name: "note", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: String}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	joined := func(times int, text any) any {
		args := make([]any, times)
		for i := range args {
			args[i] = text
		}
		return Fields{{"concat", args}}
	}
	equal := func(v any) Fields { return Fields{{"eq", []any{v, "x"}}} }
	patterns := func(n int) Fields {
		args := make([]any, n)
		for i := range args {
			args[i] = Fields{{"like", []any{"$id", "a"}}}
		}
		return Fields{{"or", args}}
	}
	for what, c2 := range map[string]struct {
		filter  Fields
		refused string
	}{
		"joined":                   {equal(joined(50, "$id")), ""},
		"joined twice":             {equal(joined(7, joined(7, "$id"))), ""},
		"joined again":             {equal(joined(8, joined(8, "$id"))), "50 texts"},
		"joined again, in between": {equal(joined(8, Fields{{"upper", []any{joined(8, "$id")}}})), "50 texts"},
		"patterns":                 {patterns(32), ""},
		"too many patterns":        {patterns(33), "32 regular expressions"},
		"too many of both kinds":   {Fields{{"and", []any{patterns(32), Fields{{"id", Fields{{"$regex", "a"}}}}}}}, "32 regular expressions"},
	} {
		_, err := ParseFilter(c, c2.filter, time.Time{})
		if (c2.refused == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c2.refused) {
			t.Errorf("%s: got %v, want %q", what, err, c2.refused)
		}
	}
}
