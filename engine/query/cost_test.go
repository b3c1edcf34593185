package query

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

// TestFilterCost checks that filters are refused if their cost is much greater than their size, for example nested
// concatenations and many regular expressions.
func TestFilterCost(t *testing.T) {
	c := &engine.Class{Name: "note", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	joined := func(times int, text any) any {
		args := make([]any, times)
		for i := range args {
			args[i] = text
		}
		return engine.Fields{{Name: "concat", Value: args}}
	}
	equal := func(v any) engine.Fields { return engine.Fields{{Name: "eq", Value: []any{v, "x"}}} }
	patterns := func(n int) engine.Fields {
		args := make([]any, n)
		for i := range args {
			args[i] = engine.Fields{{Name: "like", Value: []any{"$id", "a"}}}
		}
		return engine.Fields{{Name: "or", Value: args}}
	}
	for what, c2 := range map[string]struct {
		filter  engine.Fields
		refused string
	}{
		"joined":                   {equal(joined(50, "$id")), ""},
		"joined twice":             {equal(joined(7, joined(7, "$id"))), ""},
		"joined again":             {equal(joined(8, joined(8, "$id"))), "50 texts"},
		"joined again, in between": {equal(joined(8, engine.Fields{{Name: "upper", Value: []any{joined(8, "$id")}}})), "50 texts"},
		"patterns":                 {patterns(32), ""},
		"too many patterns":        {patterns(33), "32 regular expressions"},
		"too many of both kinds":   {engine.Fields{{Name: "and", Value: []any{patterns(32), engine.Fields{{Name: "id", Value: engine.Fields{{Name: "$regex", Value: "a"}}}}}}}, "32 regular expressions"},
	} {
		_, err := ParseFilter(c, c2.filter, time.Time{})
		if (c2.refused == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c2.refused) {
			t.Errorf("%s: got %v, want %q", what, err, c2.refused)
		}
	}
}
