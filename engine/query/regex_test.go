package query

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

// TestTranslateRegexp checks the translated expressions. Tests in engine/store/postgres check that PostgreSQL matches
// the same texts as Go.
func TestTranslateRegexp(t *testing.T) {
	for pattern, want := range map[string]string{
		`a.b`:           `a[^\u000a]b`,
		`^a$`:           `\Aa\Z`,
		`(?m)^a$`:       `^a$`,
		`(?s).`:         `.`,
		`a(b|c)*?`:      `a(?:(?:[b-c]))*`,
		`(?i)k+`:        `(?:[Kk\u212a])+`,
		`[^a]`:          `[\u0001-\u0060b-\U0010ffff]`,
		`\x00`:          `(?!(?:))`,
		`(?:ab){3}`:     `(?:ab){3,3}`,
		`(?:ab){300,}`:  `(?:ab){255,255}(?:ab){45,}`,
		`(?:ab){2,300}`: `(?:ab){2,255}(?:ab){0,45}`,
		`я1 .`:          `\u044f1 [^\u000a]`,
	} {
		got, err := TranslateRegexp(pattern)
		if err != nil || got != "***:(?w)"+want {
			t.Errorf("%q: got %q, %v, want %q", pattern, got, err, want)
		}
	}
}

func TestRegexpRefused(t *testing.T) {
	c := &engine.Class{Name: "c", Key: []string{"a"}, Properties: []*engine.Property{{Name: "a", Type: engine.String}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		`(`:                         "is not in RE2 syntax",
		`(a)\1`:                     "is not in RE2 syntax",
		`(?=a)`:                     "is not in RE2 syntax",
		`(?:abc){900}`:              "is too large",
		`\pL{100}`:                  "is too large",
		strings.Repeat(`(a|b)`, 99): "",
	} {
		_, err := ParseFilter(c, engine.Fields{{Name: "a", Value: engine.Fields{{Name: "$regex", Value: pattern}}}}, time.Time{})
		if want == "" && err != nil || want != "" && (engine.CodeOf(err) != engine.Invalid || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}
