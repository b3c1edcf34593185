package wire

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"restsrv/engine"
)

// all returns the elements of a text in their order.
func all(r io.Reader) (list []any, err error) {
	for e := NewElements(r); ; {
		v, err := e.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if fields, ok := v.(engine.Fields); ok {
			v = slices.Clone(fields)
		}
		list = append(list, v)
	}
}

// told returns the text of an error up to the offending character. The text after it depends on
// how the reader splits the input: if a character is split, the error names its first byte.
func told(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), "invalid character")
	return text
}

var elementSources = []string{
	`[{"a":1,"b":"\u0062"},{"a":"a","b":2},{"b":3,"a":4},{},{"a":5},{"a":6,"a":7,"\u0061":{"a":8,"b":9},"c":[{"a":10}]},{"a":11,"a":[],"c":"\"\\"}]`,
	"\ufeff[ 1,\n\t[{\"a\":2},{\"a\":3}], {\"a\":[{\"b\":4}]}, null ]\n", `[]`, `{"a":1}`, `"x"`, ` 5 `,
	``, "\ufeff", `[`, `[1`, `[1,]`, `[1] 2`, `{} {}`, `nul`, `]`, "[\n{\"a\": x}]", "[{\"a\":\"\xff\"}]",
	"[{\"a\":\n1},\n\n{\"b\":2},\n  {\"c\" 3}]", "\ufeff{\"a\" 1}", "\ufeff\ufeff{}", `[{"a":1},{[]:1}]`,
	"[" + strings.Repeat(`{"a":"`+strings.Repeat("x", 100)+"\"},\n", 500) + "{]",
	strings.Repeat("[", 600),
}

// TestElements checks that Elements returns the same values and errors as Decode, however the
// reader splits the text.
func TestElements(t *testing.T) {
	for _, src := range elementSources {
		whole, wholeErr := Decode([]byte(src))
		want, ok := whole.([]any)
		if !ok && wholeErr == nil {
			want = []any{whole}
		}
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(src), "by bytes": iotest.OneByteReader(strings.NewReader(src)), "with the end": iotest.DataErrReader(strings.NewReader(src))} {
			got, err := all(r)
			if told(err) != told(wholeErr) {
				t.Errorf("%.40q, %s: got %v, want %v", src, name, err, wholeErr)
			}
			if a, b := string(engine.AppendValue(nil, got)), string(engine.AppendValue(nil, want)); err == nil && a != b && len(got)+len(want) > 0 {
				t.Errorf("%.40q, %s: got %s, want %s", src, name, a, b)
			}
		}
	}
}

func TestElementsTellTheReadersError(t *testing.T) {
	late := engine.Errorf(engine.TooLarge, "too-large", "too large")
	if _, err := all(io.MultiReader(strings.NewReader(`[{"a":1},{"a`), iotest.ErrReader(late))); engine.CodeOf(err) != engine.TooLarge {
		t.Errorf("got %v, want %v", err, late)
	}
}

// FuzzElements compares Elements with Decode.
func FuzzElements(f *testing.F) {
	for _, s := range elementSources[:20] {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, wholeErr := Decode(data)
		if _, err := all(iotest.HalfReader(strings.NewReader(string(data)))); told(err) != told(wholeErr) {
			t.Fatalf("%q: got %v, Decode says %v", data, err, wholeErr)
		}
	})
}
