package apptest

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestReadSections(t *testing.T) {
	comment, sections := ReadSections("What it shows.\n\n-- a.json --\n{}\n-- http --\n> GET /\n-- a.json --\n-- not a section\n")
	want := []Section{{"a.json", "{}\n"}, {"http", "> GET /\n"}, {"a.json", "-- not a section\n"}}
	if comment != "What it shows.\n\n" || !reflect.DeepEqual(sections, want) {
		t.Errorf("got %q, %q, want the sections %q", comment, sections, want)
	}
}

func TestReadExchanges(t *testing.T) {
	got, err := readExchanges("# note\n> PUT /x\n> A: 1\n>\n> {\n>   2 }\n< 200 eventually\n< B: …\n<\n< yes\n\n> GET /y\n< 204\n<\n\n> GET /z\n< 1")
	want := []exchange{
		{line: "PUT /x", header: []string{"A: 1"}, body: "{\n  2 }", hasBody: true, status: "200", eventually: true, wantHeader: []string{"B: …"}, wantBody: []string{"yes"}, checkBody: true},
		{line: "GET /y", status: "204", checkBody: true},
		{line: "GET /z", status: "1"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"> GET /", "< 200", "GET /\n"} {
		if _, err := readExchanges(bad); err == nil {
			t.Errorf("%q: got no error, want one", bad)
		}
	}
}

func TestExpand(t *testing.T) {
	v := vars{"id": "n1"}
	got := v.expand(`{{id}} {{other}} {{repeat 3 "{\"a\"},"}} {{hex 0d41}} {{base64 "a:b"}} {"a":{"b":1}}`)
	if want := "n1 {{other}} {\"a\"},{\"a\"},{\"a\"}, \rA YTpi {\"a\":{\"b\":1}}"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a…", "ab", true}, {"…b", "ab", true}, {"a…b", "ab", true}, {"…", "", true},
		{"a…c…", "abd", false}, {`"…"`, `W/"x"`, false}, {"{{x}}-{{x}}", "ab-ab", true}, {"{{x}}-{{x}}", "ab-ac", false},
		{"{{x}}", "", false}, {"{{known}}…", "n1n2", true}, {"{{known}}", "n2", false}, {`{"_id":"{{x}}",…"id":"{{x}}"}`, `{"_id":"a\"b","b":"c","id":"a\"b"}`, true},
	} {
		if got := (vars{"known": "n1"}).match(c.pattern, c.text); got != c.want {
			t.Errorf("%q against %q: got %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
	v := vars{}
	if !v.match(`ETag: "{{tag}}"`, `ETag: "1.a"`) || v["tag"] != "1.a" {
		t.Errorf("captured %q, want 1.a", v["tag"])
	}
	if v = (vars{}); v.match("{{x}}=1", "a=2") || len(v) > 0 {
		t.Errorf("a text that does not match: got the captures %v, want none", v)
	}
}

func TestMatchBody(t *testing.T) {
	for _, c := range []struct {
		want, body string
		ok         bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false}, // in one line, the order counts
		{"{\"a\":1,\n\"b\":\"…x\"}", `{"b":"yx","a":1}`, true},
		{"{\"a\":1\n}", `{"b":2,"a":1}`, false},
		{"[1,\n2]", `[2,1]`, false},
		{`contains {"a":{"b":1}}`, `{"c":0,"a":{"b":1,"d":2}}`, true},
		{`contains {"a":1}`, `{"a":1.0}`, false},
		{`contains {"a":null}`, `{}`, false},
		{`contains {"a":1}`, `no JSON`, false},
		{"two\nli…", "two\nlines", true},
		{`visible text: Bad Request`, "<html><head><title>x</title></head><pre>Bad\u0020Request</pre>\n", true},
		{`visible text: Bad Request`, "<p>Bad Request</p><p>at line 5</p>", false},
		{``, ``, true}, {``, `x`, false},
	} {
		if got := (vars{}).matchBody(strings.Split(c.want, "\n"), c.body); got != c.ok {
			t.Errorf("%q against %q: got %v", c.want, c.body, got)
		}
	}
}

// TestCasesAreReadable checks that every case begins with a description and can be parsed.
func TestCasesAreReadable(t *testing.T) {
	files, _ := filepath.Glob("../testdata/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, sections := ReadSections(string(text))
		if len(comment) < 40 || strings.HasPrefix(comment, "\n") {
			t.Errorf("%s: got no description at the top, want one", file)
		}
		shows := false
		for _, s := range sections {
			shows = shows || s.Name == "http" || s.Name == "shell"
			if s.Name == "http" {
				if _, err := readExchanges(s.Text); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
		if !shows {
			t.Errorf("%s: got no section that checks a result, want one", file)
		}
	}
}
