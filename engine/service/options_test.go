package service

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	o := Options{"n": json.Number("5"), "big": json.Number("99"), "word": "strict", "list": []any{struct{}{}}, "null": nil}
	if n, err := o.Int("n", 1, 1, 10); n != 5 || err != nil {
		t.Errorf("n: got %d, %v, want 5", n, err)
	}
	if n, err := o.Int("null", 7, 1, 10); n != 7 || err != nil {
		t.Errorf("null: got %d, %v, want 7", n, err)
	}
	if w, err := o.OneOf("word", "lenient", "strict"); w != "strict" || err != nil {
		t.Errorf("word: got %s, %v, want strict", w, err)
	}
	for want, err := range map[string]error{
		`"big" takes a whole number from 1 to 10, found 99`: second(o.Int("big", 1, 1, 10)),
		`"list" takes text, found an array`:                 second(o.String("list")),
		`"word" takes one of a, b, found "strict"`:          second(o.OneOf("word", "a", "b")),
		`"word" takes a repository`:                         second(o.Repository("word", nil)),
		`"n" takes ion://metaRepo, found 5`:                 second(o.Meta("n", nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got := strings.Join(o.Unknown("n", "big"), ","); got != "list,null,word" {
		t.Errorf("unknown options: got %s, want list,null,word", got)
	}
}

func second[T any](_ T, err error) error { return err }
