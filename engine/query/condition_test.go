package query

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

// note is the class that most tests of this package use.
func note(t testing.TB) *engine.Class {
	t.Helper()
	c := &engine.Class{Name: "note", Namespace: "t", Caption: "Note", Key: []string{"id"}, Semantic: "title| (|age[0,1]|) |due", Properties: []*engine.Property{
		{Name: "id", Type: engine.GUID, Autoassigned: true, OrderNumber: 10},
		{Name: "title", Type: engine.String, OrderNumber: 20, Size: 5},
		{Name: "age", Type: engine.Int, Nullable: true, OrderNumber: 40},
		{Name: "pwd", Type: engine.Password, Nullable: true, OrderNumber: 30},
		{Name: "done", Type: engine.Boolean, Nullable: true, OrderNumber: 50, Default: false},
		{Name: "due", Type: engine.DateTime, Nullable: true, OrderNumber: 60},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseFilterRefuses(t *testing.T) {
	c := note(t)
	deep := engine.Fields{{Name: "title", Value: "x"}}
	for range maxFilterDepth + 2 {
		deep = engine.Fields{{Name: "$and", Value: []any{deep}}}
	}
	for want, in := range map[string]any{
		"unknown operator":            engine.Fields{{Name: "$where", Value: "1"}},
		"unknown operator \"near\"":   engine.Fields{{Name: "near", Value: []any{"$title", "x"}}},
		"no attribute \"color\"":      engine.Fields{{Name: "color", Value: "red"}},
		"no attribute \"colour\"":     engine.Fields{{Name: "eq", Value: []any{"$colour", "red"}}},
		"is a password":               engine.Fields{{Name: "$or", Value: []any{engine.Fields{{Name: "pwd", Value: engine.Fields{{Name: "$regex", Value: "^a"}}}}}}},
		"takes a whole number":        engine.Fields{{Name: "age", Value: engine.Fields{{Name: "$gt", Value: "old"}}}},
		"nested deeper":               deep,
		"an empty condition":          engine.Fields{{Name: "and", Value: []any{engine.Fields{}}}},
		"takes two arguments":         engine.Fields{{Name: "eq", Value: []any{"$title"}}},
		"takes an attribute and an a": engine.Fields{{Name: "in", Value: []any{"$title", "x"}}},
		"not in RE2 syntax":           engine.Fields{{Name: "title", Value: engine.Fields{{Name: "$regex", Value: "(?=a)"}}}},
		"(int) is no text":            engine.Fields{{Name: "like", Value: []any{"$age", "1"}}},
		"a filter is an object":       "x",
		"a condition in a list":       []any{"x"},
		"cannot be compared":          engine.Fields{{Name: "eq", Value: []any{"$age", "$title"}}},
		"$options goes with $regex":   engine.Fields{{Name: "title", Value: engine.Fields{{Name: "$options", Value: "i"}}}},
		"at least one condition":      engine.Fields{{Name: "or", Value: []any{}}},
	} {
		_, err := ParseFilter(c, in, time.Now())
		if err == nil || !strings.Contains(err.Error(), want) || engine.CodeOf(err) != engine.Invalid {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestForgottenDollarFindsNothing(t *testing.T) {
	f, err := ParseFilter(note(t), engine.Fields{{Name: "eq", Value: []any{"title", "Tea"}}}, time.Now())
	if err != nil || f.Op != engine.OpConst || f.Value != false {
		t.Errorf("got %+v, %v, want a filter that never matches", f, err)
	}
}
